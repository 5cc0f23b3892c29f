-- The prefix of every order reference of this installation. The environment is drawn when the database is
-- made, so that two installations under one provider key can distinguish their proxies.
CREATE OR REPLACE FUNCTION reference_prefix() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT format('prs.%s.', environment) FROM installation
$$;
