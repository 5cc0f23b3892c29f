/** The browser receives these functions as strings, so each must be self-contained. */

interface List<Item> {
  readonly size: number;
  map(change: (item: Item) => Item): List<Item>;
  filter(isKept: (item: Item) => boolean): List<Item>;
  forEach(work: (item: Item) => void): void;
}

interface OperationEntry {
  get(key: 'path' | 'method'): string;
  getIn(path: readonly ['operation', string]): unknown;
}

interface TagEntry {
  get(key: 'operations'): List<OperationEntry>;
  set(key: 'operations', operations: List<OperationEntry>): TagEntry;
}

/** Sorts reads first, then previews, then changes. */
export function compareOperations(one: OperationEntry, other: OperationEntry): number {
  const rank = (operation: OperationEntry) =>
    operation.get('method') === 'get' ? 0 : operation.get('path').endsWith('/preview') ? 1 : 2;
  return rank(one) - rank(other);
}

/** Also searches paths and descriptions; Swagger UI's own filter searches only tags. */
export function filterOperations(tags: List<TagEntry>, phrase: string): List<TagEntry> {
  const wanted = phrase.trim().toLowerCase();
  return tags
    .map((tag) =>
      tag.set(
        'operations',
        tag
          .get('operations')
          .filter((operation) =>
            [
              operation.get('method'),
              operation.get('path'),
              operation.getIn(['operation', 'summary']),
              operation.getIn(['operation', 'operationId']),
              operation.getIn(['operation', 'description']),
              JSON.stringify(operation.getIn(['operation', 'tags'])),
            ]
              .join(' ')
              .toLowerCase()
              .includes(wanted),
          ),
      ),
    )
    .filter((tag) => tag.get('operations').size > 0);
}

interface DescribedKey {
  readonly name: string;
  example?: string;
}

interface PageSpec {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly parameters?: DescribedKey[] }>>>
  >;
}

/**
 * Returns a plugin that fills in idempotency keys. A failed request keeps its key, so that clicking Execute
 * again retries it.
 */
export function fillKeys(): object {
  const HEADER = 'Idempotency-Key';
  const freshKey = () => `docs-${Date.now()}-${Math.random().toString(36).slice(2)}`;
  return {
    statePlugins: {
      spec: {
        wrapActions: {
          updateJsonSpec: (original: (spec: PageSpec) => unknown) => (spec: PageSpec) => {
            const operations = Object.values(spec.paths ?? {}).flatMap((path) => Object.values(path));
            for (const key of operations.flatMap(({ parameters = [] }) => parameters)) {
              if (key.name === HEADER) key.example = freshKey();
            }
            return original(spec);
          },
          setResponse:
            (original: (...given: unknown[]) => unknown, { specSelectors, specActions }: SwaggerUi) =>
            (path: string, method: string, response: { readonly ok?: boolean }) => {
              const read = specSelectors.specResolvedSubtree(['paths', path, method])?.get('parameters');
              read?.forEach((parameter) => {
                if (!response.ok || parameter.get('name') !== HEADER || !parameter.get('example')) return;
                specActions.changeParamByIdentity([path, method], parameter, freshKey());
              });
              return original(path, method, response);
            },
        },
      },
    },
  };
}

interface PageElement {
  readonly textContent: string | null;
  closest(selector: string): PageElement | null;
  scrollIntoView(): void;
}

interface Parameter {
  get(key: 'name' | 'example'): string;
}

interface SwaggerUi {
  readonly specSelectors: {
    specResolvedSubtree(
      path: readonly string[],
    ): { get(key: 'parameters'): List<Parameter> | undefined } | undefined;
    specJson(): { toJS(): { readonly paths: Readonly<Record<string, { readonly post?: Described }>> } };
  };
  readonly specActions: {
    changeParamByIdentity(operation: readonly string[], parameter: Parameter, value: unknown): void;
  };
  readonly oas3Actions: {
    setRequestBodyValue(body: { readonly value: string; readonly pathMethod: readonly string[] }): void;
  };
  readonly layoutActions: {
    show(thing: readonly string[], isShown: boolean): void;
    updateFilter(phrase: string): void;
  };
}

interface Described {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly example?: object } | undefined>>;
  };
}

declare const document: {
  querySelector(selector: string): PageElement | null;
  addEventListener(event: string, listener: (event: { readonly target: PageElement }) => void): void;
};
declare const window: { readonly ui: SwaggerUi };
declare const requestAnimationFrame: (work: () => void) => void;

/** A click on an operation's URL in a response opens the operation's form, filled in from the URL. */
export function openForms(): void {
  document.addEventListener('click', ({ target }) => {
    const [, path = '', query] = /^"(\/[^"?]+)\?([^"]*)"$/.exec(target.textContent ?? '') ?? [];
    const { specSelectors, specActions, oas3Actions, layoutActions } = window.ui;
    for (const [template, { post }] of Object.entries(specSelectors.specJson().toJS().paths)) {
      const ids = new RegExp(`^${template.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`).exec(path)?.groups;
      if (!post || !ids || !target.closest('.live-responses-table')) continue;
      // Clear the filter, because operations that it hides are not part of the page.
      layoutActions.updateFilter('');
      layoutActions.show(['operations', post.tags[0] ?? '', post.operationId], true);
      const fill = (): void => {
        // Swagger UI resolves parameters only when an operation is opened, so several attempts may be needed.
        const read = specSelectors.specResolvedSubtree(['paths', template, 'post']);
        const form = document.querySelector(`.opblock-post [data-path="${template}"]`)?.closest('.opblock');
        if (!read || !form) return requestAnimationFrame(fill);
        read.get('parameters')?.forEach((parameter) => {
          const id = ids[parameter.get('name')];
          if (id !== undefined) specActions.changeParamByIdentity([template, 'post'], parameter, id);
        });
        const empty = post.requestBody?.content['application/json']?.example;
        const value = JSON.stringify(
          { ...empty, ...Object.fromEntries(new URLSearchParams(query)) },
          null,
          2,
        );
        oas3Actions.setRequestBodyValue({ value, pathMethod: [template, 'post'] });
        form.scrollIntoView();
      };
      requestAnimationFrame(fill);
    }
  });
}

/** Colors with a contrast ratio of 4.5:1, because Swagger UI's own have only 2:1 or 3:1. */
export const PAGE_STYLE = `
  .swagger-ui .info .title small { background: #5b6273; }
  .swagger-ui .info .title small.version-stamp { background: #45701a; }
  .swagger-ui .info a, .swagger-ui .link, .swagger-ui .response-control-media-type__accept-message {
    color: #1560a8;
  }
  .swagger-ui .btn.authorize, .swagger-ui .btn.authorize span { border-color: #1a7f4b; color: #1a7f4b; }
  .swagger-ui .btn.cancel { border-color: #b3261e; color: #b3261e; }
  .swagger-ui .markdown code, .swagger-ui .renderedMarkdown code { color: #6d0fc4; }
  .swagger-ui .download-contents { background: #5b6273; }
  .swagger-ui .btn.execute { border-color: #1560a8; background: #1560a8; }
  .swagger-ui .opblock.opblock-get .opblock-summary-method { background: #1560a8; }
  .swagger-ui .opblock.opblock-post .opblock-summary-method { background: #1a7f4b; }
  .swagger-ui .opblock.opblock-put .opblock-summary-method { background: #945600; }
  .swagger-ui .opblock.opblock-patch .opblock-summary-method { background: #1f766a; }
  .swagger-ui .opblock.opblock-delete .opblock-summary-method { background: #b3261e; }
  .swagger-ui .parameter__in, .swagger-ui .prop-format, .swagger-ui table.headers .header-example,
  .swagger-ui .parameter__extension, .swagger-ui .model-hint { color: #555; }
  .swagger-ui .parameter__name.required span, .swagger-ui .parameter__name.required::after { color: #b3261e; }
  .swagger-ui .microlight span[style*='211, 99, 99'] { color: #ff9d9d !important; }
`;
