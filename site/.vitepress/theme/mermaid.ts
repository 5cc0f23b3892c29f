import { defineComponent, h, onMounted, ref } from 'vue';

/** Draws a diagram in the browser. Until then the page shows its source. */
export default defineComponent({
  props: { code: { type: String, required: true } },
  setup(props) {
    const code = decodeURIComponent(props.code);
    const drawing = ref('');
    onMounted(async () => {
      // The site serves it as it is: bundling it took most of the build.
      const { default: mermaid } = import.meta.env.DEV
        ? await import('mermaid')
        : await import(/* @vite-ignore */ `${import.meta.env.BASE_URL}mermaid/mermaid.esm.min.mjs`);
      const isDark = document.documentElement.classList.contains('dark');
      mermaid.initialize({ startOnLoad: false, theme: isDark ? 'dark' : 'default' });
      drawing.value = (await mermaid.render(`diagram-${Date.now()}`, code)).svg;
    });
    return () => (drawing.value ? h('div', { innerHTML: drawing.value }) : h('pre', code));
  },
});
