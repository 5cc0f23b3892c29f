import { chromium } from 'playwright-core';
import { createApiClient } from '../support/api-client';
import {
  BUILD_TIMEOUT_MS,
  type BuiltService,
  ensureBuild,
  killLeftovers,
  startBuiltService,
} from '../support/built-service';
import { findChromium } from '../support/programs';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';

// The first steps with money: `npm start`, a deposit, and a click on the page of its payment.

const program = findChromium();

if (program === undefined) {
  it.skip('a deposit in a browser: there is no Chromium on the PATH (apt-get install chromium)', () =>
    undefined);
} else {
  describe('A deposit on a fresh checkout', () => {
    let dataDir: string;
    let service: BuiltService;

    beforeAll(async () => {
      await ensureBuild();
      dataDir = await createTestDirectory();
      service = await startBuiltService({ DATA_DIR: dataDir });
    }, BUILD_TIMEOUT_MS);
    afterAll(async () => {
      await service.stop();
      await killLeftovers();
      await removeTestDirectory(dataDir);
    });

    it('is on the balance within a second of the click', async () => {
      const token = /^Demo token +(\S+)$/m.exec(service.stdout())?.[1] ?? '';
      const { GET } = createApiClient(service.baseUrl, token);
      const response = await fetch(`${service.baseUrl}/deposits`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${token}`,
          'Content-Type': 'application/json',
          'Idempotency-Key': 'top-up',
        },
        body: '{"amount":"500.00"}',
      });
      const { id, payment_url: url } = (await response.json()) as { id: number; payment_url: string };

      const browser = await chromium.launch({ executablePath: program });
      try {
        const page = await browser.newPage();
        await page.goto(url);
        expect(await page.locator('h1').innerText()).toBe('500.00 RUB');
        const isCredited = fetch(`${service.baseUrl}/deposits/${id}?wait=30`, {
          headers: { Authorization: `Bearer ${token}` },
        });
        await page.getByRole('button', { name: 'Pay' }).click();
        const clickedMs = performance.now();
        expect(await (await isCredited).json()).toMatchObject({ state: 'succeeded' });
        expect(performance.now() - clickedMs).toBeLessThan(1000);
        expect((await GET('/me')).data).toMatchObject({ balance: '10500.00' });
        await page.getByText('The payment is succeeded.').waitFor();
      } finally {
        await browser.close();
      }
    });
  });
}
