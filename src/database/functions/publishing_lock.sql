-- Returns the number of the advisory lock under which events get their positions. No event is published while
-- another session holds this lock, for example to enable a webhook.
CREATE OR REPLACE FUNCTION publishing_lock() RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 7283003';
