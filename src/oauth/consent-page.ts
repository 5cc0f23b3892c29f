import { createHash } from 'node:crypto';
import type { Response } from 'express';
import type { CustomerScope } from '../auth';
import type { AuthorizationRequest } from './authorization-request';
import { isOnLoopback } from './redirect-uri';

export const CONSENT_DAYS = [1, 7, 30, 90, 365];
const DEFAULT_DAYS = 30;

const STYLE = `
  body { font: 16px/1.5 system-ui, sans-serif; color: #1c1c1c }
  main { max-width: 34rem; margin: 2rem auto; padding: 0 1rem }
  h1 { font-size: 1.4rem; overflow-wrap: anywhere }
  strong { overflow-wrap: anywhere }
  fieldset { border: 1px solid #bbb; border-radius: 6px; margin: 1rem 0 }
  label { display: block; margin: .4rem 0 }
  input[name=token] { width: 100%; box-sizing: border-box; font: inherit; padding: .5rem }
  input[name=daily_limit] { width: 6rem; font: inherit }
  select { font: inherit }
  button { font: inherit; padding: .6rem 1.6rem; margin: .5rem .5rem 0 0 }
  button { border-radius: 6px; border: 1px solid #555 }
  button[value=allow] { background: #0b5cad; color: #fff; border-color: #0b5cad }
  .mistake { border-left: 4px solid #b00020; padding-left: .8rem }
`;
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** HTML that needs no escaping. */
class Html {
  constructor(readonly text: string) {}
}

type Value = string | number | Html | Html[];

function toHtml(value: Value): string {
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(toHtml).join('');
  return String(value).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** Escapes all values but HTML. */
const markup = (raw: TemplateStringsArray, ...values: readonly Value[]): Html =>
  new Html(String.raw({ raw }, ...values.map(toHtml)));

const page = (title: string, body: Html): string =>
  markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${new Html(STYLE)}</style>
</head>
<body><main>
<h1>${title}</h1>
${body}
</main></body>
</html>
`.text;

/** The form is sent to the page's own URL, which contains the client's request. */
export function consentPage({ client, redirectUri, scopes }: AuthorizationRequest, mistake = ''): string {
  const place = isOnLoopback(redirectUri) ? 'a program on this computer' : new URL(redirectUri).host;
  const days = CONSENT_DAYS.map((count) => {
    const selected = count === DEFAULT_DAYS ? 'selected' : '';
    return markup`<option value="${count}" ${selected}>${count} ${count === 1 ? 'day' : 'days'}</option>`;
  });
  const disabledWithout = (scope: CustomerScope): string => (scopes.includes(scope) ? '' : 'disabled');
  return page(
    `Connect “${client.name}”`,
    markup`
<p>It returns to <strong>${place}</strong>. Anybody can choose this name: allow it only if you
started this there.</p>
${mistake === '' ? '' : markup`<p class="mistake" role="alert">${mistake}</p>`}
<form method="post">
<label>Your token
<input name="token" type="password" autocomplete="off" placeholder="prx_…" required autofocus></label>
<fieldset>
<legend>It may</legend>
<label><input type="radio" name="access" value="look" checked> look</label>
<label><input type="radio" name="access" value="buy" ${disabledWithout('proxies:write')}>
look and buy, for at most
<input name="daily_limit" inputmode="decimal" autocomplete="off" aria-label="Roubles a day">
roubles a day</label>
<label><input type="checkbox" name="passwords" value="yes" ${disabledWithout('proxies:export')}>
see passwords of proxies</label>
</fieldset>
<label>for <select name="days">${days}</select></label>
<p><button name="decision" value="allow">Allow</button>
<button name="decision" value="deny" formnovalidate>Deny</button></p>
</form>
<p>The agent gets a token of its own, which you can revoke at any time. It works no longer than the token
that you paste, which the agent never sees.</p>`,
  );
}

export const messagePage = (message: string): string => page('Not connected', markup`<p>${message}</p>`);

/** @param redirectUri where the form may redirect: browsers apply `form-action` to redirects as well */
export function sendPage(response: Response, status: number, text: string, redirectUri?: string): void {
  const targets = redirectUri === undefined ? `'none'` : `'self' ${sourceOf(redirectUri)}`;
  response
    .status(status)
    .set('Cache-Control', 'no-store')
    .set(
      'Content-Security-Policy',
      `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action ${targets}; base-uri 'none'; ` +
        `frame-ancestors 'none'`,
    )
    .set('X-Frame-Options', 'DENY')
    // In a popup, this page redirects to the client's page, which must still be able to reach the window that
    // opened the popup.
    .set('Cross-Origin-Opener-Policy', 'unsafe-none')
    .type('html')
    .send(text);
}

/** Returns the URI's CSP source: its origin, or its scheme for an IPv6 address, which CSP cannot express. */
function sourceOf(redirectUri: string): string {
  const { origin, protocol, hostname } = new URL(redirectUri);
  return hostname.startsWith('[') ? protocol : origin;
}
