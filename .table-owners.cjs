/**
 * Each table has an owner, the module whose statements write it, and modules that read it. Another module
 * writes a table only where two changes must be one statement or one transaction, and says here why. The
 * test `test/table-owners` reads the SQL of all modules and functions. `integrity`, which reads everything,
 * is not listed.
 */
const tables = {
  accounts: {
    owner: 'ledger',
    writers: { events: 'the threshold of balance.low stands with the balance that a trigger compares' },
    readers: ['orders', 'renewals', 'staff', 'usage', 'users'],
  },
  api_tokens: { owner: 'auth', readers: ['links', 'orders', 'staff', 'tokens', 'usage'] },
  audit_runs: { owner: 'integrity', readers: ['status'] },
  blocked_receivers: { owner: 'webhooks' },
  bulk_prolongations: { owner: 'orders' },
  call_demand: { owner: 'provider' },
  call_slots: { owner: 'provider' },
  catalogue_copies: { owner: 'catalog', readers: ['status'] },
  default_markups: { owner: 'pricing' },
  events: {
    owner: 'events',
    writers: {
      proxies: 'a change of a proxy and its event are one statement',
      renewals: 'a decision and its event are one statement',
      webhooks: 'a webhook is switched off with its event; a replay locks what is kept',
    },
    readers: ['status'],
  },
  export_links: { owner: 'links' },
  found_prolongations: { owner: 'orders' },
  installation: {
    owner: 'orders',
    writers: {
      pricing: 'the revision of all rules, by a trigger',
      renewals: 'renewals of all users are paused',
    },
    readers: ['status'],
  },
  job_runs: { owner: 'database', readers: ['orders', 'renewals', 'status'] },
  ledger_entries: {
    owner: 'ledger',
    writers: { orders: 'an order and its entries change in one statement' },
    readers: ['sales', 'staff', 'usage'],
  },
  orders: {
    owner: 'orders',
    writers: { renewals: 'a renewal and its order are placed together' },
    readers: ['proxies', 'sales', 'staff', 'status', 'usage'],
  },
  orphans: { owner: 'orders', readers: ['status'] },
  price_rules: { owner: 'pricing' },
  provider_accounts: { owner: 'provider', readers: ['status'] },
  provider_listings: { owner: 'integrity' },
  proxies: {
    owner: 'proxies',
    writers: {
      events: 'the stages before the end that were announced, with their events',
      orders: 'a delivery, its order and its entries are one statement; the listing is taken over',
    },
    readers: ['renewals', 'staff'],
  },
  proxy_changes: { owner: 'proxies' },
  proxy_trials: { owner: 'trials' },
  proxy_type_changes: { owner: 'orders' },
  recoveries: { owner: 'orders' },
  renewal_rules: { owner: 'renewals', readers: ['staff'] },
  renewal_settings: { owner: 'renewals', readers: ['staff', 'status'] },
  renewals: { owner: 'renewals', readers: ['staff', 'status'] },
  replica_reports: { owner: 'status' },
  request_counts: { owner: 'limits' },
  retention_marks: { owner: 'retention', readers: ['events'] },
  sales_days: { owner: 'sales' },
  sales_rollup: { owner: 'sales' },
  staff_actions: { owner: 'staff', readers: ['proxies'] },
  sweep_sightings: { owner: 'orders' },
  token_spending: { owner: 'orders', readers: ['usage'] },
  upstream_calls: { owner: 'orders', readers: ['staff'] },
  users: {
    owner: 'users',
    writers: { proxies: 'the revision of a list changes in the statement that changes the list' },
    readers: ['auth', 'database', 'links', 'local', 'orders', 'renewals', 'staff'],
  },
  webhook_attempts: { owner: 'webhooks' },
  webhook_deliveries: {
    owner: 'webhooks',
    writers: { events: 'an event is published with its deliveries in one statement' },
    readers: ['status'],
  },
  webhooks: { owner: 'webhooks', readers: ['events', 'staff', 'status'] },
};

/** The module to which each function of the database belongs. */
const functions = {
  apply_ledger_entries: 'ledger',
  begin_stages: 'proxies',
  check_account_follows_ledger: 'ledger',
  check_proxy_references: 'proxies',
  claim_bulk_key: 'orders',
  count_price_rules_change: 'pricing',
  count_proxies_change: 'proxies',
  forget_staff_reads: 'staff',
  lock_account: 'ledger',
  lock_accounts: 'ledger',
  log_balance_event: 'events',
  log_low_balance: 'events',
  log_order_event: 'events',
  log_token_event: 'events',
  note_order_state: 'orders',
  note_proxy_changes: 'proxies',
  number_ledger_entry: 'ledger',
  open_account: 'ledger',
  order_refusals: 'orders',
  place_orders: 'orders',
  place_renewals: 'renewals',
  publish_events: 'events',
  refuse_change: 'database',
  requests_of_key: 'orders',
  rule_of_proxy: 'renewals',
  skip_ids: 'orders',
  take_call_slot: 'provider',
};

module.exports = { tables, functions };
