-- Returns the key of the advisory lock for publishing events. Enabling a webhook takes the same lock.
CREATE OR REPLACE FUNCTION publishing_lock() RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 7283003';
