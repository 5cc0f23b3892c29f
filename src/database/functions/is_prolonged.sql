-- Whether a later expiry means a prolongation rather than a correction. `prolongationEvidence()` uses the
-- same tolerance.
CREATE OR REPLACE FUNCTION is_prolonged(before timestamptz, after timestamptz) RETURNS boolean
  LANGUAGE sql STABLE AS $$
  SELECT after > before + interval '6 hours'
$$;
