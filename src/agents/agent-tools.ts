import type { CallToolResult, Tool as ListedTool } from '@modelcontextprotocol/server' with {
  'resolution-mode': 'import',
};
import { Injectable, Logger } from '@nestjs/common';
import type { Request } from 'express';
import type { Caller } from '../auth';
import { ServiceUnavailable, setRequestTool, stackOf } from '../common';
import { isDatabaseUnavailable } from '../database';
import { describeObjectsOf, instanceOf, type JsonValue, readInput } from '../http';
import { Metrics } from '../metrics';
import { toAgentError, UNEXPECTED_ERROR } from './agents.errors';
import { DepositTools } from './deposit-tools';
import { readLeniently } from './lenient-arguments';
import { OrderTools } from './order-tools';
import { ReadingTools } from './reading-tools';
import { LONG_RESULT_LENGTH, type Tool, type ToolCall } from './tool';

@Injectable()
export class AgentTools {
  private readonly logger = new Logger(AgentTools.name);
  private readonly tools: readonly Tool[];
  private listed: readonly ListedTool[] | undefined;

  constructor(
    private readonly metrics: Metrics,
    reading: ReadingTools,
    orders: OrderTools,
    deposits: DepositTools,
  ) {
    this.tools = [reading, orders, deposits].flatMap(({ tools }) => tools);
  }

  list({ scopes }: Pick<Caller, 'scopes'>): ListedTool[] {
    // Describe the tools on the first request, to keep startup fast.
    this.listed ??= describe(this.tools);
    return this.listed.filter((_, n) => scopes.includes(this.tools[n]?.scope ?? ''));
  }

  /** @returns null if there is no such tool, or if the caller may not use it */
  prepare(name: JsonValue, given: JsonValue, call: ToolCall): (() => Promise<CallToolResult>) | null {
    const tool = this.tools.find((one) => one.name === name && call.caller.scopes.includes(one.scope));
    if (!tool) return null;
    let input: object;
    try {
      input = readArguments(tool, given);
    } catch (error) {
      return () => this.execute(tool, () => Promise.reject(error));
    }
    return () => this.execute(tool, () => tool.run(input, call));
  }

  private async execute({ name }: Tool, run: () => Promise<object>): Promise<CallToolResult> {
    setRequestTool(name);
    try {
      const result = JSON.stringify(await run());
      this.metrics.count('agent_calls_total', { tool: name, outcome: 'done' });
      const structuredContent = JSON.parse(result) as Record<string, unknown>;
      const text = result.length > LONG_RESULT_LENGTH ? withoutLists(structuredContent) : result;
      return { content: [{ type: 'text', text }], structuredContent };
    } catch (error) {
      const isUnavailable = isDatabaseUnavailable(error);
      const known = toAgentError(isUnavailable ? new ServiceUnavailable() : error);
      if (isUnavailable || !known) this.logger.error(`${name} failed`, stackOf(error));
      this.metrics.count('agent_calls_total', { tool: name, outcome: known ? 'refused' : 'failed' });
      return { isError: true, content: [{ type: 'text', text: JSON.stringify(known ?? UNEXPECTED_ERROR) }] };
    }
  }
}

const LONG_LIST = 20;

/** Formats a result for clients that show the model only the text. A note replaces each long list. */
const withoutLists = (result: Readonly<Record<string, unknown>>): string =>
  JSON.stringify(result, (_, value: unknown) =>
    Array.isArray(value) && value.length > LONG_LIST
      ? `${value.length} in structuredContent. If you do not see them, list fewer.`
      : value,
  );

/** Validates a tool's arguments like a request body. @throws RequestInvalid */
function readArguments({ input }: Tool, body: JsonValue): object {
  readLeniently(input, body);
  readInput({ path: [], header: [], query: undefined, body: input, refusesQuery: false }, {
    body,
  } as Request);
  return instanceOf(body as object) ?? {};
}

function describe(tools: readonly Tool[]): ListedTool[] {
  const schemas = describeObjectsOf(tools.flatMap(({ input, output }) => [input, output]));
  return tools.map(({ name, description, input, output, effect, example }) => ({
    name,
    title: name.replace('_', ' ').replace(/^./, (letter) => letter.toUpperCase()),
    description:
      Object.keys(example).length > 0 ? `${description} E.g. ${JSON.stringify(example)}` : description,
    // Every tool is idempotent: repeating `place_order` or `create_deposit` returns the existing result.
    annotations: {
      readOnlyHint: effect === undefined,
      destructiveHint: effect === 'final',
      idempotentHint: true,
      openWorldHint: false,
    },
    inputSchema: schemaOf(input.name, schemas, forModels),
    outputSchema: schemaOf(output.name, schemas),
  }));
}

const REFERENCE = /"#\/components\/schemas\/(\w+)"/g;

function schemaOf(
  name: string,
  schemas: Readonly<Record<string, object>>,
  change = (value: unknown): unknown => value,
): { type: 'object' } {
  const found = new Map<string, object>();
  const add = (one: string): void => {
    // Drop `title`, because it repeats the name, and `example`, because JSON Schema does not define it.
    const text = JSON.stringify(schemas[one], (key, value: unknown) =>
      (key === 'title' && typeof value === 'string') || key === 'example' ? undefined : change(value),
    );
    found.set(one, JSON.parse(text.replaceAll(REFERENCE, '"#/$$defs/$1"')));
    for (const [, used = ''] of text.matchAll(REFERENCE)) if (!found.has(used)) add(used);
  };
  add(name);
  const { [name]: root, ...$defs } = Object.fromEntries(found);
  return { type: 'object', ...root, ...(found.size > 1 && { $defs }) };
}

interface FieldSchema {
  readonly default?: string | number | boolean;
  readonly exclusiveMinimum?: number;
  readonly description?: string;
}

/**
 * Adapts a schema to what models accept: Gemini rejects `exclusiveMinimum`, and OpenAI's strict mode requires
 * optional fields to allow null.
 */
function forModels(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const { exclusiveMinimum: below, default: usual, description, ...rest } = value as FieldSchema;
  const schema = { ...rest, ...(below !== undefined && { minimum: below + 1 }) };
  if (usual === undefined) return description === undefined ? schema : { ...schema, description };
  return { description: `${description}. Default: ${usual}`, anyOf: [schema, { type: 'null' }] };
}
