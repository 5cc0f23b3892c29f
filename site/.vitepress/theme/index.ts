import './style.css';
import type { Theme } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import { defineAsyncComponent } from 'vue';

export default {
  extends: DefaultTheme,
  enhanceApp: ({ app }) => {
    // Only a page with a diagram loads Mermaid.
    app.component(
      'MermaidDiagram',
      defineAsyncComponent(() => import('./mermaid')),
    );
  },
} satisfies Theme;
