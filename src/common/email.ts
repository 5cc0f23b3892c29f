import { domainToASCII } from 'node:url';

const MAX_LENGTH = 254;
const NAME = /^[A-Za-z0-9.!#$%&'*+/=?^_{|}~-]{1,64}$/;
/** `domainToASCII` would decode any other character, or truncate the domain there. */
const GIVEN_DOMAIN = /^([a-z0-9.-]|\P{ASCII})+$/iu;
const DOMAIN = /^([a-z0-9-]+\.)+([a-z]{2,63}|xn--[a-z0-9-]{1,59})$/i;

/** Rejects a non-ASCII local part, because few mail servers accept one. */
export function readEmail(text: string): { readonly email: string } | { readonly mistake: string } {
  const [name = '', given = '', ...others] = text.split('@');
  const domain = GIVEN_DOMAIN.test(given) ? domainToASCII(given) : '';
  const email = `${name}@${domain.toLowerCase() === given.toLowerCase() ? given : domain}`;
  if (!DOMAIN.test(domain) || name === '' || others.length > 0 || email.length > MAX_LENGTH) {
    return { mistake: 'Input should be an e-mail address, such as name@example.com' };
  }
  if (NAME.test(name)) return { email };
  return { mistake: 'The part before the @ may contain only ASCII letters, digits and punctuation' };
}
