import { fileURLToPath } from 'node:url';
import { withMermaid } from 'vitepress-plugin-mermaid';

const page = (text: string, name: string) => ({ text, link: `/docs/${name}` });
const inPackages = (path: string) => fileURLToPath(new URL(`../node_modules/${path}`, import.meta.url));

/**
 * The documents of the repository as a site: `npm run docs`. Pages are the Markdown files in their places, so
 * that links between them work here, in an editor and at a repository's host.
 */
export default withMermaid({
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
        // Bundled and minified already: from its sources, the build takes half as long again.
        { find: /^mermaid$/, replacement: inPackages('mermaid/dist/mermaid.esm.min.mjs') },
      ],
    },
  },
  rewrites: { 'README.md': 'index.md' },
  // A file of the repository without an extension.
  ignoreDeadLinks: [/LICENSE$/],
  markdown: {
    // Braces in code are text, and no expressions of Vue.
    config: (markdown) => {
      markdown.renderer.rules.code_inline = (tokens, at) =>
        `<code v-pre>${markdown.utils.escapeHtml(tokens[at]?.content ?? '')}</code>`;
    },
  },
  themeConfig: {
    search: { provider: 'local' },
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
          page("PROXY6's wire", 'px6'),
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
          page('Performance', 'performance'),
          page('Decisions', 'decisions/README'),
          { text: 'Security', link: '/SECURITY' },
          { text: 'Contributing', link: '/CONTRIBUTING' },
        ],
      },
    ],
  },
});
