import type { Type } from '@nestjs/common';
import type { Request } from 'express';
import type { Caller, CustomerScope } from '../auth';

/** Maximum length of a result. A longer one would fill an agent's conversation. */
export const MAX_RESULT_LENGTH = 64 * 1024;
/** Above this length, the text form of a result omits the lists that the structured form contains. */
export const LONG_RESULT_LENGTH = 16 * 1024;

export interface ToolCall {
  readonly caller: Caller;
  /** Hash of the caller's token, in hex. */
  readonly tokenHash: string;
  readonly request: Request;
  /** Aborted when the agent disconnects. */
  readonly hungUp: AbortSignal;
}

/** A tool for agents. It calls the same use case as a route, and contains no business logic. */
export interface Tool<Input extends object = object> {
  readonly name: string;
  readonly description: string;
  /** Scope that a token needs to see the tool. */
  readonly scope: CustomerScope;
  readonly input: Type<Input>;
  readonly output: Type<object>;
  /** Effect of the tool; omitted if it changes nothing. `final` spends the balance or ends a rental. */
  readonly effect?: 'adds' | 'final';
  /** Arguments of an example call, for agents that learn from examples. */
  readonly example: object;
  run(input: Input, call: ToolCall): Promise<object>;
}

/** Defines a tool. TypeScript infers its input type. */
export const tool = <Input extends object>(defined: Tool<Input>): Tool => defined;
