-- Whether a move of an expiry counts as a prolongation. A smaller move is a correction, because providers
-- count days. `prolongationEvidence()` uses the same 6 hours.
CREATE OR REPLACE FUNCTION is_prolonged(before timestamptz, after timestamptz) RETURNS boolean
  LANGUAGE sql STABLE AS $$
  SELECT after > before + interval '6 hours'
$$;
