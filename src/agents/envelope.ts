import { isJsonObject, type JsonValue } from '../http';

/** The members of an object that are kept, and theirs. */
interface Shape {
  readonly [name: string]: Shape;
}

const PEER = { name: {}, version: {} };

/** The members of a message that decide about its response. */
const ENVELOPE: Shape = {
  jsonrpc: {},
  id: {},
  method: {},
  result: {},
  error: { code: {}, message: {} },
  params: {
    name: {},
    cursor: {},
    protocolVersion: {},
    capabilities: {},
    clientInfo: PEER,
    _meta: {
      progressToken: {},
      'io.modelcontextprotocol/protocolVersion': {},
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': PEER,
    },
  },
};

/**
 * A message as the library sees it: the library lists every mistake of the rest, at a hundred times its size.
 * The arguments of a tool are not part of it.
 */
export const envelopeOf = (message: JsonValue): unknown => pick(message, ENVELOPE);

function pick(value: JsonValue, shape: Shape): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return [];
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(shape).filter(([name]) => Object.hasOwn(value, name));
  return Object.fromEntries(kept.map(([name, inner]) => [name, pick(value[name] as JsonValue, inner)]));
}
