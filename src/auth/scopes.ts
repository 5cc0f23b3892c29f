/** The scopes that a customer's token can carry, with what each grants. */
export const SCOPES = {
  'profile:read': 'Profile and balance',
  'countries:read': 'Countries and stock counts',
  'price:read': 'Price quotes',
  'proxies:read': 'Proxy list and TCP ping',
  'proxies:export': 'Proxies as a file',
  'proxies:write': 'Buying and prolonging proxies, which spends the balance',
} as const;

export type Scope = keyof typeof SCOPES;

export const ALL_SCOPES = Object.keys(SCOPES) as Scope[];

export const isScope = (text: string): text is Scope => Object.hasOwn(SCOPES, text);
