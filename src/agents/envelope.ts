import { isJsonObject, type JsonValue } from '../http';

/** Names of the members to keep. Each value is the shape of that member. */
interface Shape {
  readonly [name: string]: Shape;
}

const PEER = { name: {}, version: {} };

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

/** Keeps only the members that the MCP library needs, because it would reject mistakes in any others. */
export const envelopeOf = (message: JsonValue): unknown => pick(message, ENVELOPE);

function pick(value: JsonValue, shape: Shape): unknown {
  if (typeof value === 'bigint') return Number(value);
  if (Array.isArray(value)) return [];
  if (!isJsonObject(value)) return value;
  const kept = Object.entries(shape).filter(([name]) => Object.hasOwn(value, name));
  return Object.fromEntries(kept.map(([name, inner]) => [name, pick(value[name] as JsonValue, inner)]));
}
