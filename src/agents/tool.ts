import type { Type } from '@nestjs/common';
import type { Request } from 'express';
import type { Caller, CustomerScope } from '../auth';

/** Longer results would fill an agent's context. */
export const MAX_RESULT_LENGTH = 64 * 1024;
/** The text of longer results omits long lists; the structured content still contains them. */
export const LONG_RESULT_LENGTH = 16 * 1024;

export interface ToolCall {
  readonly caller: Caller;
  /** Hash of the caller's token, in hex. */
  readonly tokenHash: string;
  readonly request: Request;
  /** Aborted when the agent disconnects. */
  readonly hungUp: AbortSignal;
}

/** A tool must call the same use case as a route, and must contain no business logic of its own. */
export interface Tool<Input extends object = object> {
  readonly name: string;
  readonly description: string;
  readonly scope: CustomerScope;
  readonly input: Type<Input>;
  readonly output: Type<object>;
  /** Omitted if the tool changes nothing. `final` tools spend the balance or end a rental. */
  readonly effect?: 'adds' | 'final';
  readonly example: object;
  run(input: Input, call: ToolCall): Promise<object>;
}

export const tool = <Input extends object>(defined: Tool<Input>): Tool => defined;
