/** Stands between rows, as the field separator does between fields. No field of a plain row holds either. */
export const ROW_SEPARATOR = '\x1e';
const FIELD_SEPARATOR = '\x1f';

/** SQL for a row as text: the fields of `ProxyOut` in order. `$1` is the time that `active` is for. */
export const ROW_TEXT = `concat_ws('${FIELD_SEPARATOR}',
  id, host, port, login, password, proxy_type, country, version, date_start, date_end,
  CASE WHEN date_end > $1 AND withdrawn_at IS NULL THEN 'true' ELSE 'false' END,
  coalesce(to_json(descr)::text, 'null'))`;

const PLAIN_TEXT = String.raw`([^"\\\x00-\x1f]*)`;
const PLAIN_TIME = String.raw`(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(?:\.\d+)?\+00`;

/** A row that needs no escaping and has no null, except in `descr`, which PostgreSQL sends as JSON. */
const PLAIN_ROW = new RegExp(
  `${ROW_SEPARATOR}${[
    ...Array<string>(8).fill(PLAIN_TEXT),
    PLAIN_TIME,
    PLAIN_TIME,
    '(true|false)',
    String.raw`([^\x00-\x1f]+)`,
  ].join(FIELD_SEPARATOR)}(?=${ROW_SEPARATOR}|$)`,
  'g',
);

const AS_JSON =
  ',{"id":"$1","host":"$2","port":"$3","login":"$4","password":"$5","proxy_type":"$6","country":"$7",' +
  '"version":"$8","date_start":"$9T$10Z","date_end":"$11T$12Z","active":$13,"descr":$14}';

/**
 * Turns plain rows into JSON objects, each after a comma, ten times as fast as `JSON.stringify`. Gives
 * undefined when any row among them is not plain.
 *
 * @param rows in the form of {@link ROW_TEXT}, in the time zone UTC, with separators between them
 */
export function rowsToJson(rows: string): string | undefined {
  const json = (ROW_SEPARATOR + rows).replace(PLAIN_ROW, AS_JSON);
  return json.includes(ROW_SEPARATOR) ? undefined : json;
}
