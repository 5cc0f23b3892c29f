export const SCOPES = {
  'profile:read': 'Profile, balance, ledger, usage and the renewal forecast',
  'countries:read': 'Countries and stock counts',
  'price:read': 'Price quotes',
  'proxies:read': 'Proxies with their history, checks and TCP pings; orders; renewals',
  'proxies:export': 'Exporting proxies as files, including through secret links',
  'proxies:write':
    'Buying and prolonging proxies, paid from the balance; changing renewals, proxy types and labels; ' +
    'requesting refunds',
  'events:read': 'Events, webhooks and their delivery attempts, and the low-balance threshold',
  'events:write': 'Adding, changing and removing webhooks; setting the low-balance threshold',
  'tokens:write': "Listing, issuing and revoking the user's tokens; new tokens cannot do more than this one",
} as const;

/** Must be requested by name, so that no existing token gains rights once the service takes payments. */
export const PAYMENT_SCOPES = {
  'deposits:read': 'Deposits',
  'deposits:write': 'Creating deposits',
} as const;

/** Staff scopes include no customer scopes. */
export const STAFF_SCOPES = {
  'staff:read': 'Read-only access to everything that staff can see',
  'staff:users': 'Creating, finding, blocking and unblocking users; viewing and disabling webhooks',
  'staff:balance': 'Crediting and debiting balances; refunds, ledgers and statements',
  'staff:tokens': 'Issuing, listing and revoking tokens; the list of scopes',
  'staff:grant':
    'In combination with staff:tokens: issuing and revoking tokens of other staff members; in combination ' +
    'with staff:users: blocking staff members',
  'staff:orders':
    "Finding orders, deciding orders in review, assigning unmatched proxies; users' refunds and renewals",
  'staff:audit': 'Reading the audit log',
  'staff:system':
    'Service status, maintenance, missing proxies, sales, price rules, the refund rule, pausing all ' +
    'renewals',
} as const;

export type CustomerScope = keyof typeof SCOPES | keyof typeof PAYMENT_SCOPES;
export type StaffScope = keyof typeof STAFF_SCOPES;
export type Scope = CustomerScope | StaffScope;

export const ALL_SCOPES = Object.keys(SCOPES) as CustomerScope[];
export const ALL_PAYMENT_SCOPES = Object.keys(PAYMENT_SCOPES) as CustomerScope[];
export const ALL_STAFF_SCOPES = Object.keys(STAFF_SCOPES) as StaffScope[];

/** `all` excludes `tokens:write`, because a stolen token with this scope could issue further tokens. */
export const USUAL_SCOPES = ALL_SCOPES.filter((scope) => scope !== 'tokens:write');

/** A token stores these scopes, not the group `read`. */
const READ_SCOPES = USUAL_SCOPES.filter((scope) => scope.endsWith(':read'));
export const READ_GROUP = 'read';
export const expandGroups = (names: readonly (Scope | typeof READ_GROUP)[]): Scope[] => [
  ...new Set(names.flatMap((name): readonly Scope[] => (name === READ_GROUP ? READ_SCOPES : [name]))),
];

/** `staff:read` allows every staff route that only reads. */
export const allowsScope = (scopes: readonly string[], required: Scope, isRead: boolean): boolean =>
  scopes.includes(required) || (isRead && isStaffScope(required) && scopes.includes('staff:read'));

const GRANTS: Readonly<Record<Scope, string>> = { ...SCOPES, ...PAYMENT_SCOPES, ...STAFF_SCOPES };

export const isStaffScope = (text: string): text is StaffScope => Object.hasOwn(STAFF_SCOPES, text);
export const isCustomerScope = (text: string): text is CustomerScope => isScope(text) && !isStaffScope(text);
export const isScope = (text: string): text is Scope => Object.hasOwn(GRANTS, text);
export const isPaymentScope = (text: string): boolean => Object.hasOwn(PAYMENT_SCOPES, text);
export const whatIsGranted = (scope: Scope): string => GRANTS[scope];
