-- The number of the advisory lock under which events get their positions. Whoever holds it keeps
-- every event from being published, as those do who switch a webhook on.
CREATE OR REPLACE FUNCTION publishing_lock() RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 7283003';
