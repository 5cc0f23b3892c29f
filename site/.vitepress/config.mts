import { copyFile, cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';
import { writeReference } from './reference.mts';

const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};
/** Where the site is served, for its sitemap, and where its sources are, for links to edit them. */
const { SITE_URL = 'https://docs.example.com', SITE_REPOSITORY } = process.env;
/** The first paragraph of each page, by its path. */
const summaries = new Map<string, { readonly title: string; readonly summary: string }>();

const page = (text: string, name: string) => ({ text, link: `/docs/${name}` });
const inPackages = (path: string) => fileURLToPath(new URL(`../node_modules/${path}`, import.meta.url));

const plain = (markdown: string) =>
  markdown
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/[`*_]/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim();

async function summarise(path: string): Promise<string> {
  const text = await readFile(
    new URL(`../../${path === 'index.md' ? 'README.md' : path}`, import.meta.url),
    'utf8',
  );
  const [, title = path, summary = ''] = /^# (.+)\n+(?:#.*\n+)*([^]*?)(?:\n\n|$)/.exec(text) ?? [];
  summaries.set(path, { title: plain(title), summary: plain(summary) });
  return summaries.get(path)?.summary ?? '';
}

/**
 * The documents of the repository as a site: `npm run docs`. Pages are the Markdown files in their places, so
 * that links between them work here, in an editor and at a repository's host.
 */
export default defineConfig({
  title: 'Proxy Rental Service',
  description: 'Rents out proxy servers from prepaid balances',
  // Without an icon, a browser requests one that is not there.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  srcDir: '..',
  srcExclude: ['node_modules/**', 'test/**', 'dist/**', 'coverage/**'],
  outDir: 'dist',
  // The pages are outside of this folder, which has the packages.
  vite: {
    resolve: {
      alias: [
        { find: /^vue\/server-renderer$/, replacement: inPackages('vue/server-renderer/index.mjs') },
        { find: /^vue$/, replacement: inPackages('vue/dist/vue.runtime.esm-bundler.js') },
      ],
    },
  },
  lastUpdated: true,
  sitemap: { hostname: SITE_URL },
  transformPageData: async ({ relativePath }) => ({ description: await summarise(relativePath) }),
  // Each page as Markdown too, the list of them for programs, and the reference of both interfaces.
  buildEnd: async ({ outDir, pages }) => {
    const lines: string[] = [];
    for (const source of pages) {
      const path = source === 'README.md' ? 'index.md' : source;
      await mkdir(dirname(join(outDir, path)), { recursive: true });
      await copyFile(fileURLToPath(new URL(`../../${source}`, import.meta.url)), join(outDir, path));
      const { title = source, summary = '' } = summaries.get(path) ?? {};
      lines.push(`- [${title}](${SITE_URL}/${path}): ${summary}`);
    }
    lines.push(
      `- [The API as OpenAPI 3.1](${SITE_URL}/openapi.json), and [staff's](${SITE_URL}/staff/openapi.json)`,
    );
    await cp(
      fileURLToPath(new URL('../../docs/examples', import.meta.url)),
      join(outDir, 'docs', 'examples'),
      { recursive: true },
    );
    // Bundled and minified already.
    for (const part of ['mermaid.esm.min.mjs', 'chunks/mermaid.esm.min']) {
      await cp(inPackages(`mermaid/dist/${part}`), join(outDir, 'mermaid', part), {
        recursive: true,
        filter: (path) => !path.endsWith('.map'),
      });
    }
    await writeFile(join(outDir, 'llms.txt'), `# Proxy Rental Service ${version}\n\n${lines.join('\n')}\n`);
    await writeReference(outDir, version);
  },
  rewrites: { 'README.md': 'index.md' },
  // A file of the repository without an extension.
  ignoreDeadLinks: [/LICENSE$/],
  markdown: {
    // Braces in code are text, and no expressions of Vue.
    config: (markdown) => {
      markdown.renderer.rules.code_inline = (tokens, at) =>
        `<code v-pre>${markdown.utils.escapeHtml(tokens[at]?.content ?? '')}</code>`;
      const { fence } = markdown.renderer.rules;
      markdown.renderer.rules.fence = (tokens, at, ...rest) =>
        tokens[at]?.info === 'mermaid'
          ? `<MermaidDiagram code="${encodeURIComponent(tokens[at].content)}" />`
          : (fence?.(tokens, at, ...rest) ?? '');
    },
  },
  themeConfig: {
    search: {
      provider: 'local',
      options: {
        miniSearch: {
          searchOptions: {
            // What readers do comes before how it was decided.
            boostDocument: (id: string) =>
              /\/(?:decisions|bench|drills|src)\/|CHANGELOG|glossary/.test(id)
                ? 0.3
                : /scripts|recipes/.test(id)
                  ? 2
                  : 1,
          },
        },
      },
    },
    ...(SITE_REPOSITORY && {
      editLink: { pattern: `${SITE_REPOSITORY}/edit/main/:path`, text: 'Edit this page' },
    }),
    footer: { message: `Version ${version}` },
    outline: [2, 3],
    nav: [
      { text: 'Start', link: '/docs/start' },
      { text: 'Guides', link: '/docs/scripts' },
      { text: 'Reference', link: '/docs/api' },
      { text: 'Why it is safe', link: '/docs/reliability' },
    ],
    sidebar: [
      {
        text: 'Start',
        items: [
          { text: 'Overview', link: '/' },
          page('In ten minutes', 'start'),
          page('Troubleshooting', 'troubleshooting'),
        ],
      },
      {
        text: 'Guides',
        items: [
          page('Scripts that spend money', 'scripts'),
          page('Buy 20 proxies every night', 'recipes/nightly'),
          page('Use your proxies', 'recipes/use-your-proxies'),
          page('Events and webhooks', 'events'),
          page('Renewals', 'renewals'),
          page('Refunds of dead proxies', 'refunds'),
          page('Agents', 'agents'),
          page('Staff', 'staff'),
          page('Running in production', 'production'),
          page('Operations', 'operations'),
          page('Runbook', 'runbook'),
          page('Payments', 'payments'),
          { text: 'Backups and restores', link: '/operations/backup' },
          page('Sizing', 'sizing'),
        ],
      },
      {
        text: 'Reference',
        items: [
          page('API', 'api'),
          page("PROXY6's API", 'px6'),
          { text: 'API reference', link: '/reference/', target: '_self' },
          { text: 'Staff API reference', link: '/staff/reference/', target: '_self' },
          page('Error codes', 'errors'),
          { text: 'TypeScript client', link: '/clients/typescript/README' },
          page('Configuration', 'configuration'),
          page('Metrics', 'metrics'),
          page('Command line', 'cli'),
          page('Stability', 'stability'),
          page('Glossary', 'glossary'),
          { text: 'Changes', link: '/CHANGELOG' },
        ],
      },
      {
        text: 'Why it is safe',
        items: [
          page('Reliability', 'reliability'),
          page('Architecture', 'architecture'),
          { text: 'Performance', link: '/bench/README' },
          page('Decisions', 'decisions/README'),
          { text: 'Security', link: '/SECURITY' },
          { text: 'Contributing', link: '/CONTRIBUTING' },
        ],
      },
    ],
  },
});
