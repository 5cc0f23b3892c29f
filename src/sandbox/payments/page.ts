import type { SandboxPayment } from './sandbox-shop';

const STYLE =
  'body{font:18px system-ui;max-width:26rem;margin:15vh auto;padding:0 1rem}' +
  'form{display:inline}button{font:inherit;padding:.5rem 1.5rem;margin-right:.5rem}';

const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const form = (id: string, action: 'pay' | 'cancel', text: string): string =>
  `<form method="post" action="/pay/${id}/${action}"><button>${text}</button></form>`;

export function paymentPage({ id, status, amount, description, return_url }: SandboxPayment): string {
  const body =
    status === 'pending'
      ? form(id, 'pay', 'Pay') + form(id, 'cancel', 'Cancel')
      : `<p>The payment is <b>${status}</b>.</p>
<p><a href="${escapeHtml(return_url)}">Back to the shop</a></p>`;
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Sandbox payment</title>
<style>${STYLE}</style></head><body><h1>${escapeHtml(amount.value)} ${escapeHtml(amount.currency)}</h1>
<p>${escapeHtml(description ?? '')}</p>${body}</body></html>
`;
}
