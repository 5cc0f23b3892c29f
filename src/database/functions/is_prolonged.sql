-- Whether a rental is prolonged whose end moves from one moment to another. An end that moves by less is a
-- correction: providers count days, not hours. The code has the same 6 hours in `prolongationEvidence()`.
CREATE OR REPLACE FUNCTION is_prolonged(before timestamptz, after timestamptz) RETURNS boolean
  LANGUAGE sql STABLE AS $$
  SELECT after > before + interval '6 hours'
$$;
