import { text } from 'node:stream/consumers';
import axe, { type AxeResults } from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core';
import { eventually } from './built-service';

/** Not localhost, which Swagger UI treats differently. */
const HOST = 'proxies.example';
const VIEWPORT = { width: 1400, height: 1000 };

const REPORT_VIOLATIONS = `document.addEventListener('securitypolicyviolation', (violation) => {
  console.error('violates', violation.effectiveDirective, violation.blockedURI, violation.sourceFile);
});`;

interface Form {
  readonly parameters?: Readonly<Record<string, string | number>>;
  readonly body?: object;
}

export interface ShownResponse {
  readonly status: string;
  readonly body: Record<string, unknown>;
}

/** Operates Swagger UI by mouse and keyboard. Blocks and records requests to other addresses. */
export class DocsBrowser {
  readonly complaints: string[] = [];

  private constructor(
    private readonly browser: Browser,
    private readonly origin: string,
    private readonly page: Page,
  ) {}

  static async open(program: string, serviceUrl: string): Promise<DocsBrowser> {
    const { port } = new URL(serviceUrl);
    const origin = `http://${HOST}:${port}`;
    const browser = await chromium.launch({
      executablePath: program,
      args: [
        `--host-resolver-rules=MAP ${HOST} 127.0.0.1`,
        // Treats the page as served over TLS: otherwise Chromium complains about headers that need it.
        `--unsafely-treat-insecure-origin-as-secure=${origin}`,
        // Compiles and collects garbage in one thread, which takes a tenth less processor time.
        '--js-flags=--single-threaded',
      ],
    });
    const context = await browser.newContext({ viewport: VIEWPORT });
    const docs = new DocsBrowser(browser, origin, await context.newPage());
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

  async visit(path: string, part = '.opblock'): Promise<void> {
    await this.page.goto(this.origin + path);
    await this.page.locator(part).first().waitFor();
  }

  async isAuthorized(): Promise<boolean> {
    const locks = this.page.locator('.opblock .authorization__btn');
    return (await locks.first().getAttribute('aria-label')) === 'authorization button locked';
  }

  async authorize(token: string): Promise<void> {
    await this.page.locator('.auth-wrapper .btn.authorize').click();
    const dialog = this.page.locator('.dialog-ux');
    await dialog.locator('input').fill(token);
    await dialog.getByRole('button', { name: 'Apply credentials' }).click();
    await dialog.locator('.btn-done').click();
  }

  async execute(method: string, path: string, form: Form = {}): Promise<ShownResponse> {
    const operation = await this.press(method, path, form);
    const received = operation.locator('.live-responses-table .response').first();
    await received.locator('.highlight-code').first().waitFor();
    return {
      status: (await received.locator('.response-col_status').innerText()).trim(),
      body: JSON.parse(
        (await received.locator('.highlight-code code').first().textContent()) ?? '',
      ) as Record<string, unknown>,
    };
  }

  async download(method: string, path: string, form: Form = {}): Promise<{ name: string; text: string }> {
    const link = (await this.press(method, path, form)).getByRole('link', { name: 'Download file' });
    const [file] = await Promise.all([this.page.waitForEvent('download'), link.click()]);
    return { name: file.suggestedFilename(), text: await text(await file.createReadStream()) };
  }

  /** @returns the operations that the filter leaves, from the top: `GET /staff/users` */
  async filter(phrase: string): Promise<string[]> {
    await this.page.locator('.operation-filter-input').fill(phrase);
    const summaries = this.page.locator('.opblock-summary');
    const texts = await summaries.locator('.opblock-summary-method, .opblock-summary-path').allTextContents();
    return texts.flatMap((word, at) =>
      at % 2 === 0 ? [`${word} ${texts[at + 1]?.replaceAll('\u200B', '')}`] : [],
    );
  }

  async followToForm(link: string, path: string): Promise<{ parameters: string[]; body: unknown }> {
    const responses = this.page.locator('.live-responses-table .highlight-code');
    await responses.getByText(`"${link}"`, { exact: true }).last().click();
    const operation = this.operation('POST', path);
    const { amount } = Object.fromEntries(new URL(link, this.origin).searchParams);
    const body = operation.locator('textarea');
    await operation.locator('textarea', { hasText: amount ?? '' }).waitFor();
    await eventually(
      async () => (await operation.locator('[data-param-name] input').first().inputValue()) !== '',
    );
    const fields = await operation.locator('[data-param-name] input').all();
    return {
      parameters: await Promise.all(fields.map((field) => field.inputValue())),
      body: JSON.parse(await body.inputValue()),
    };
  }

  async findPaleTexts(method: string, path: string): Promise<string[]> {
    await this.filter('');
    await this.open(this.operation(method, path));
    await this.page.evaluate(axe.source);
    const { violations } = await this.page.evaluate<AxeResults>(
      `axe.run(document, { runOnly: ['color-contrast'], resultTypes: ['violations'] })`,
    );
    return violations.flatMap(({ nodes }) => nodes.map(({ html }) => html));
  }

  private operation(method: string, path: string): Locator {
    return this.page.locator(`.opblock-${method.toLowerCase()}`, {
      has: this.page.locator(`[data-path="${path}"]`),
    });
  }

  private async press(method: string, path: string, { parameters = {}, body }: Form): Promise<Locator> {
    // With few operations, the page reacts to typing three times as fast.
    await this.filter(`${method} ${path}`);
    const operation = this.operation(method, path);
    await this.open(operation);
    for (const [name, value] of Object.entries(parameters)) {
      const field = operation.locator(`[data-param-name="${name}"]`).locator('input, select');
      const isChoice = await field.evaluate((element) => element.tagName === 'SELECT');
      await (isChoice ? field.selectOption(String(value)) : field.fill(String(value)));
    }
    if (body) await operation.locator('textarea').fill(JSON.stringify(body, null, 2));
    // Otherwise the previous response could be read.
    const clear = operation.locator('.btn-clear');
    if ((await clear.count()) > 0) await clear.click();
    await operation.locator('.execute').click();
    return operation;
  }

  private async open(operation: Locator): Promise<void> {
    if ((await operation.locator('.execute').count()) > 0) return;
    await operation.locator('.opblock-summary-control').click();
  }

  close(): Promise<void> {
    return this.browser.close();
  }
}
