/**
 * Extends the pages of Swagger UI beyond its options. The functions run in the browser, which receives their
 * text, so they use nothing outside themselves. The types describe the used parts of the page and of Swagger
 * UI.
 */

/** An immutable list. */
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

/** Sorts harmless operations first: reads, then previews, then changes. */
export function compareOperations(one: OperationEntry, other: OperationEntry): number {
  const rank = (operation: OperationEntry) =>
    operation.get('method') === 'get' ? 0 : operation.get('path').endsWith('/preview') ? 1 : 2;
  return rank(one) - rank(other);
}

/** Keeps operations with the phrase in their tag, path or texts. Swagger UI itself searches only tags. */
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
 * A plugin that fills in a fresh Idempotency-Key when the page is loaded, and another one after each
 * success: Execute after a failure retries the request, and after a success it sends a new one.
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

/**
 * A plugin for people who use the keyboard or a screen reader. Swagger UI puts a link into the button of each
 * operation, gives fields no name but the text next to them, and lets code scroll that no key can reach.
 */
export function nameControls(): object {
  const nameOf = (control: PageElement): string =>
    control.closest('[data-param-name]')?.getAttribute('data-param-name') ??
    (control.closest('.servers') ? 'Server' : control.closest('textarea') ? 'Body' : 'Example');
  const name = () => {
    document.querySelectorAll('.swagger-ui :is(select, textarea):not([aria-label])').forEach((control) => {
      control.setAttribute('aria-label', nameOf(control));
    });
    document.querySelectorAll('.swagger-ui h3').forEach((heading) => {
      if (heading.textContent?.includes('No operations defined')) heading.textContent = 'Nothing found';
    });
    document.querySelectorAll('.swagger-ui pre:not([tabindex])').forEach((code) => {
      code.setAttribute('tabindex', '0');
    });
  };
  return {
    afterLoad: () => new MutationObserver(name).observe(document, { childList: true, subtree: true }),
    wrapComponents: {
      // Without an address it is text: the button around it opens the operation, and sets the page's address.
      DeepLink:
        (Link: unknown, { React }: { React: { createElement(type: unknown, props: object): object } }) =>
        (props: object) =>
          React.createElement(Link, { ...props, enabled: false }),
    },
  };
}

interface PageElement {
  textContent: string | null;
  readonly style: { cursor: string; textDecoration: string };
  name: string;
  content: string;
  placeholder: string;
  closest(selector: string): PageElement | null;
  querySelector(selector: string): PageElement | null;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
  append(element: PageElement): void;
  scrollIntoView(): void;
  click(): void;
}

interface PageDocument {
  readonly head: PageElement;
  createElement(name: 'meta'): PageElement;
  querySelector(selector: string): PageElement | null;
  querySelectorAll(selector: string): Pick<List<PageElement>, 'forEach'>;
  addEventListener(event: string, listener: (event: { readonly target: PageElement }) => void): void;
}

interface SwaggerUi {
  readonly specSelectors: {
    specResolvedSubtree(
      path: readonly string[],
    ): { get(key: 'parameters'): List<Parameter> | undefined } | undefined;
    specJson(): { toJS(): { readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>> } };
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

interface Parameter {
  get(key: 'name' | 'example'): string;
  getIn(path: readonly ['schema', 'default']): unknown;
}

declare const document: PageDocument;
declare class MutationObserver {
  constructor(work: () => void);
  observe(target: PageDocument, options: { readonly childList: true; readonly subtree: true }): void;
}
declare const window: { readonly ui: SwaggerUi };
declare const requestAnimationFrame: (work: () => void) => void;

/**
 * Prepares the page when its operations are loaded. The path of an operation in a response becomes a link. A
 * click on the link fills in a GET and executes it with the page's token, or opens and fills in a POST.
 */
export function preparePage(): void {
  const viewport = document.createElement('meta');
  viewport.name = 'viewport';
  viewport.content = 'width=device-width, initial-scale=1';
  document.head.append(viewport);
  const nameFilter = () => {
    const filter = document.querySelector('.operation-filter-input');
    if (filter) filter.placeholder = 'Filter: path, word or scope';
    else requestAnimationFrame(nameFilter);
  };
  nameFilter();

  const find = (target: PageElement) => {
    if (!target.closest('.live-responses-table .highlight-code')) return null;
    const [, path, query] = /^"(\/[^"?]+)(?:\?([^"]*))?"$/.exec(target.textContent ?? '') ?? [];
    if (path === undefined) return null;
    const fields = new URLSearchParams(query);
    for (const [template, { get, post }] of Object.entries(window.ui.specSelectors.specJson().toJS().paths)) {
      const values = new RegExp(`^${template.replaceAll(/\{\w+\}/g, '([^/]+)')}$`).exec(path)?.slice(1);
      const operation = get ?? post;
      if (!operation || !values) continue;
      const names = [...template.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '');
      const ids = new Map(names.map((name, at) => [name, values[at] ?? '']));
      return { template, operation, method: get ? 'get' : 'post', ids, fields };
    }
    return null;
  };

  document.addEventListener('mouseover', ({ target }) => {
    if (!find(target)) return;
    target.style.cursor = 'pointer';
    target.style.textDecoration = 'underline';
  });
  document.addEventListener('click', ({ target }) => {
    const found = find(target);
    if (!found) return;
    const { template, operation, method, ids, fields } = found;
    // Clears the filter, because the page does not contain operations that the filter hides.
    window.ui.layoutActions.updateFilter('');
    window.ui.layoutActions.show(['operations', operation.tags[0] ?? '', operation.operationId], true);
    const execute = () => {
      // Swagger UI resolves an operation when it is opened, and cannot execute it earlier.
      const read = window.ui.specSelectors.specResolvedSubtree(['paths', template, method]);
      const block = document
        .querySelector(`.opblock-${method} [data-path="${template}"]`)
        ?.closest('.opblock');
      const button = block?.querySelector('.execute');
      if (!read || !block || !button) return requestAnimationFrame(execute);
      const change = (parameter: Parameter, value: unknown) =>
        window.ui.specActions.changeParamByIdentity([template, method], parameter, value);
      read.get('parameters')?.forEach((parameter) => {
        const name = parameter.get('name');
        const given = ids.get(name) ?? (method === 'get' ? fields.get(name) : undefined);
        // Replaces values that were typed into the operation earlier. A form keeps its fresh key.
        if (method === 'get') change(parameter, given ?? parameter.getIn(['schema', 'default']));
        else if (given !== undefined) change(parameter, given);
      });
      block.scrollIntoView();
      if (method === 'get') return button.click();
      const form = operation.requestBody?.content['application/json']?.example;
      const value = JSON.stringify({ ...form, ...Object.fromEntries(fields) }, null, 2);
      window.ui.oas3Actions.setRequestBodyValue({ value, pathMethod: [template, method] });
    };
    requestAnimationFrame(execute);
  });
}

/**
 * Colours with a contrast of 4.5 to 1, where those of Swagger UI have 2 or 3, and targets of 24 pixels. On a
 * narrow screen wide parts scroll, and the page does not.
 */
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
  .swagger-ui .opblock-summary-path { line-height: 24px; }
  .swagger-ui table.model tr.property-row .markdown p, .swagger-ui .opblock-description-wrapper p {
    overflow-wrap: anywhere;
  }
  @media (max-width: 640px) {
    .swagger-ui .wrapper { padding: 0 8px; }
    .swagger-ui .opblock-summary-control { flex-wrap: wrap; min-width: 0; }
    .swagger-ui .opblock-section-header { flex-wrap: wrap; }
    .swagger-ui .opblock-summary-description { flex-basis: 100%; }
    .swagger-ui .filter-container .filter { display: block; width: 100%; max-width: 100%; }
    .swagger-ui .filter .operation-filter-input {
      width: 100% !important; max-width: none; margin: 12px 0; font-size: 16px;
    }
    .swagger-ui .opblock-body table, .swagger-ui .opblock-body tbody, .swagger-ui .opblock-body tr,
    .swagger-ui .opblock-body td { display: block; width: auto; max-width: 100%; min-width: 0; }
    .swagger-ui .opblock-body thead { display: none; }
    .swagger-ui .opblock-body input, .swagger-ui .opblock-body select, .swagger-ui .opblock-body textarea {
      width: 100%; max-width: 100%; min-width: 0;
    }
    .swagger-ui .highlight-code, .swagger-ui .curl-command, .swagger-ui pre {
      max-width: 100%; overflow-x: auto;
    }
    .swagger-ui .dialog-ux .modal-ux { min-width: 0; max-width: 100%; }
  }
`;
