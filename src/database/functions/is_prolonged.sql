-- Whether a later expiry counts as a prolongation. A difference of 6 hours or less is a correction, because
-- providers count whole days. `prolongationEvidence()` uses the same limit.
CREATE OR REPLACE FUNCTION is_prolonged(before timestamptz, after timestamptz) RETURNS boolean
  LANGUAGE sql STABLE AS $$
  SELECT after > before + interval '6 hours'
$$;
