-- What every tag of this installation begins with. The environment is drawn when the database is made, so
-- that two installations under one provider key can tell their proxies apart.
CREATE OR REPLACE FUNCTION tag_prefix() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT format('prs.%s.', environment) FROM installation
$$;
