-- Returns the number of the advisory lock under which events get their positions. While a session holds it,
-- for example to enable a webhook, no event is published.
CREATE OR REPLACE FUNCTION publishing_lock() RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 7283003';
