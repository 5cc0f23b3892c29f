-- Whether a later expiry is a prolongation rather than a correction, as in `prolongationEvidence()`.
CREATE OR REPLACE FUNCTION is_prolonged(before timestamptz, after timestamptz) RETURNS boolean
  LANGUAGE sql STABLE AS $$
  SELECT after > before + interval '6 hours'
$$;
