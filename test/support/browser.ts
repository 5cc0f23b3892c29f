import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import axe, { type AxeResults } from 'axe-core';
import {
  type Browser,
  type BrowserContext,
  chromium,
  type Locator,
  type Page,
  type Request,
} from 'playwright-core';

/** A host name as staff use, since Swagger UI treats localhost differently. */
const HOST = 'proxies.example';

const VIEWPORT = { width: 1400, height: 1000 };

const REPORT_VIOLATIONS = `document.addEventListener('securitypolicyviolation', (violation) => {
  console.error('violates', violation.effectiveDirective, violation.blockedURI, violation.sourceFile);
});`;

interface Form {
  readonly parameters?: Readonly<Record<string, string | number>>;
  readonly body?: object;
}

/** An element that some people cannot use. */
export interface Barrier {
  /** Of axe-core: https://dequeuniversity.com/rules/axe/. */
  readonly rule: string;
  readonly html: string;
  readonly why: string;
}

/** The response of an operation as the page shows it. */
export interface ShownResponse {
  readonly status: string;
  /** The parsed body of a JSON response. */
  readonly body: Record<string, unknown>;
}

/**
 * A browser that operates Swagger UI by mouse and keyboard. It blocks every request to an address other than
 * the service's and records problems.
 */
export class DocsBrowser {
  /** Requests to other addresses, console errors and violations of the security policy. */
  readonly complaints: string[] = [];
  private shots = 0;

  private constructor(
    private readonly browser: Browser,
    private readonly origin: string,
    private readonly page: Page,
    private readonly screenshots: string | undefined,
  ) {}

  /** @param screenshots a directory for pictures of the main steps */
  static async open(program: string, serviceUrl: string, screenshots?: string): Promise<DocsBrowser> {
    const { port } = new URL(serviceUrl);
    const origin = `http://${HOST}:${port}`;
    if (screenshots !== undefined) mkdirSync(screenshots, { recursive: true });
    const browser = await chromium.launch({
      executablePath: program,
      args: [
        `--host-resolver-rules=MAP ${HOST} 127.0.0.1`,
        // Treats the page as served over TLS: otherwise Chromium complains about headers that need it.
        `--unsafely-treat-insecure-origin-as-secure=${origin}`,
      ],
    });
    const context = await browser.newContext({ viewport: VIEWPORT });
    const docs = new DocsBrowser(browser, origin, await context.newPage(), screenshots);
    await docs.listen(context);
    return docs;
  }

  private async listen(context: BrowserContext): Promise<void> {
    await context.route(
      (url) => url.origin !== this.origin,
      async (route) => {
        this.complaints.push(`a request to ${route.request().url()}`);
        await route.abort();
      },
    );
    await context.addInitScript({ content: REPORT_VIOLATIONS });
    this.page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) this.complaints.push(message.text());
    });
    this.page.on('pageerror', ({ message }) => this.complaints.push(message));
    this.page.on('requestfailed', (request) => this.complaints.push(`${request.url()} failed`));
  }

  /** Opens a page of Swagger UI and waits for its operations. */
  async visit(path: string): Promise<void> {
    await this.page.goto(this.origin + path);
    await this.page.locator('.opblock').first().waitFor();
  }

  /** Returns whether the page has a token for its operations. */
  async isAuthorized(): Promise<boolean> {
    const locks = this.page.locator('.opblock .authorization__btn');
    return (await locks.first().getAttribute('aria-label')) === 'authorization button locked';
  }

  async authorize(token: string): Promise<void> {
    await this.page.locator('.auth-wrapper .btn.authorize').click();
    const dialog = this.page.locator('.dialog-ux');
    await dialog.locator('input').fill(token);
    await dialog.getByRole('button', { name: 'Apply credentials' }).click();
    await this.shoot('authorize', this.page);
    await dialog.locator('.btn-done').click();
  }

  /** Fills in the form of an operation, presses Execute and reads the response. */
  async execute(method: string, path: string, form: Form = {}): Promise<ShownResponse> {
    return this.readResponse(await this.press(method, path, form), `${method} ${path}`);
  }

  private async readResponse(operation: Locator, name: string): Promise<ShownResponse> {
    const received = operation.locator('.live-responses-table .response').first();
    await received.locator('.highlight-code').first().waitFor();
    await this.shoot(name, operation);
    return {
      status: (await received.locator('.response-col_status').innerText()).trim(),
      body: JSON.parse(
        (await received.locator('.highlight-code code').first().textContent()) ?? '',
      ) as Record<string, unknown>,
    };
  }

  /** Presses Execute on a form as the page offers it, and returns whether a request was sent. */
  async pressAtOnce(method: string, path: string): Promise<'sent' | 'not sent'> {
    let sent: 'sent' | 'not sent' = 'not sent';
    const note = (request: Request): void => {
      if (request.method() === method) sent = 'sent';
    };
    this.page.on('request', note);
    const operation = await this.press(method, path, {});
    // The page marks what is missing, or shows the request that it sends.
    await operation.locator('input.invalid, textarea.invalid, .curl-command').first().waitFor();
    this.page.off('request', note);
    await this.shoot(`${method} ${path} in haste`, operation);
    return sent;
  }

  /** Executes an operation that returns a file and downloads the file. */
  async download(method: string, path: string, form: Form = {}): Promise<{ name: string; text: string }> {
    const operation = await this.press(method, path, form);
    const link = operation.getByRole('link', { name: 'Download file' });
    const [file] = await Promise.all([this.page.waitForEvent('download'), link.click()]);
    await this.shoot(`${method} ${path}`, operation);
    return { name: file.suggestedFilename(), text: await text(await file.createReadStream()) };
  }

  /** Types into the filter box. @returns the operations that are left, from the top: `GET /staff/users` */
  async filter(phrase: string): Promise<string[]> {
    await this.page.locator('.operation-filter-input').fill(phrase);
    const summaries = this.page.locator('.opblock-summary');
    const texts = await summaries.locator('.opblock-summary-method, .opblock-summary-path').allTextContents();
    return texts.flatMap((word, at) =>
      at % 2 === 0 ? [`${word} ${texts[at + 1]?.replaceAll('\u200B', '')}`] : [],
    );
  }

  /** Clicks a link in a shown response, and returns the response of the operation that it opens. */
  async follow(link: string): Promise<ShownResponse> {
    const wanted = new URL(link, this.origin);
    const responses = this.page.locator('.live-responses-table .highlight-code');
    const [response] = await Promise.all([
      this.page.waitForResponse((received) => {
        const { pathname, searchParams } = new URL(received.url());
        const isRequested = [...wanted.searchParams].every(
          ([name, value]) => searchParams.get(name) === value,
        );
        return pathname === wanted.pathname && isRequested;
      }),
      responses.getByText(`"${link}"`, { exact: true }).last().click(),
    ]);
    await this.page.locator('.request-url', { hasText: response.url() }).first().waitFor();
    await this.shoot(`follow ${link}`, this.page);
    return { status: String(response.status()), body: (await response.json()) as Record<string, unknown> };
  }

  /** Clicks a link to a form in a shown response, and returns what it fills in. */
  async followToForm(link: string, path: string): Promise<{ parameters: string[]; body: unknown }> {
    const responses = this.page.locator('.live-responses-table .highlight-code');
    await responses.getByText(`"${link}"`, { exact: true }).last().click();
    const operation = this.operation('POST', path);
    const { amount } = Object.fromEntries(new URL(link, this.origin).searchParams);
    const body = operation.locator('textarea');
    await operation.locator('textarea', { hasText: amount ?? '' }).waitFor();
    await this.shoot(`follow ${link}`, this.page);
    const fields = await operation.locator('[data-param-name] input').all();
    return {
      parameters: await Promise.all(fields.map((field) => field.inputValue())),
      body: JSON.parse(await body.inputValue()),
    };
  }

  /** How far the page is wider than a narrow screen, in pixels, with these operations open. */
  async overflowAt(width: number, operations: readonly (readonly [string, string])[]): Promise<number> {
    await this.filter('');
    await this.page.setViewportSize({ width, height: 844 });
    for (const [method, path] of operations) await this.open(this.operation(method, path));
    await this.shoot(`at ${width} pixels`, this.page);
    const overflow = await this.page.evaluate('document.documentElement.scrollWidth - window.innerWidth');
    await this.page.setViewportSize(VIEWPORT);
    return Number(overflow);
  }

  /**
   * The findings of axe-core in the page, with these operations open: rules and the elements that break them.
   *
   * @param tags the rules to check, such as `wcag2aa`
   */
  async findBarriers(
    operations: readonly (readonly [string, string])[],
    tags: readonly string[],
  ): Promise<Barrier[]> {
    await this.filter('');
    for (const [method, path] of operations) await this.open(this.operation(method, path));
    await this.page.evaluate(axe.source);
    const options = JSON.stringify({ runOnly: { type: 'tag', values: tags }, resultTypes: ['violations'] });
    const { violations } = await this.page.evaluate<AxeResults>(`axe.run(document, ${options})`);
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary = '' }) => ({ rule: id, html, why: failureSummary })),
    );
  }

  private operation(method: string, path: string): Locator {
    return this.page.locator(`.opblock-${method.toLowerCase()}`, {
      has: this.page.locator(`[data-path="${path}"]`),
    });
  }

  private async press(method: string, path: string, { parameters = {}, body }: Form): Promise<Locator> {
    // Of few operations, the page takes what is typed in a third of the time.
    await this.filter(`${method} ${path}`);
    const operation = this.operation(method, path);
    await this.open(operation);
    for (const [name, value] of Object.entries(parameters)) {
      const field = operation.locator(`[data-param-name="${name}"]`).locator('input, select');
      const isChoice = await field.evaluate((element) => element.tagName === 'SELECT');
      await (isChoice ? field.selectOption(String(value)) : field.fill(String(value)));
    }
    if (body) await operation.locator('textarea').fill(JSON.stringify(body, null, 2));
    // The response of the request before would be taken for that of this one.
    const clear = operation.locator('.btn-clear');
    if ((await clear.count()) > 0) await clear.click();
    await operation.locator('.execute').click();
    return operation;
  }

  private async open(operation: Locator): Promise<void> {
    if ((await operation.locator('.execute').count()) > 0) return;
    await operation.locator('.opblock-summary-control').click();
  }

  private async shoot(name: string, what: Page | Locator): Promise<void> {
    if (this.screenshots === undefined) return;
    this.shots += 1;
    const file = `${String(this.shots).padStart(2, '0')}-${name.replaceAll(/\W+/g, '-')}.png`;
    await what.screenshot({ path: join(this.screenshots, file) });
  }

  close(): Promise<void> {
    return this.browser.close();
  }
}
