-- Clients that registered themselves (RFC 7591). Clients identified by a document's URL are not stored.
CREATE TABLE oauth_clients (
  id text PRIMARY KEY,
  name text,
  redirect_uris text[] NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Time of the last consent; null if no customer has consented to the client yet.
  used_at timestamptz
);
CREATE INDEX oauth_clients_unused_idx ON oauth_clients (created_at) WHERE used_at IS NULL;

-- Authorization codes. Kept for a day after expiry, so that a second use is noticed and revokes the token.
CREATE TABLE oauth_codes (
  code_hash bytea PRIMARY KEY,
  client_id text NOT NULL,
  client_name text NOT NULL,
  redirect_uri text NOT NULL,
  -- The PKCE challenge (S256).
  challenge text NOT NULL,
  user_id bigint NOT NULL REFERENCES users,
  -- The token with which the customer consented.
  issuer_id bigint NOT NULL,
  scopes text[] NOT NULL,
  daily_limit numeric(14,2),
  token_expires_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  -- The token that was issued for the code.
  token_id bigint
);
CREATE INDEX oauth_codes_expires_at_idx ON oauth_codes (expires_at);
CREATE INDEX oauth_codes_user_id_idx ON oauth_codes (user_id);

-- For each OAuth token, its client and its refresh token.
CREATE TABLE oauth_grants (
  token_id bigint PRIMARY KEY REFERENCES api_tokens ON DELETE CASCADE,
  client_id text NOT NULL,
  -- SHA-256 of the part that all refresh tokens of a grant share.
  family_hash bytea NOT NULL UNIQUE,
  -- SHA-256 of the current refresh token.
  refresh_hash bytea NOT NULL
);
