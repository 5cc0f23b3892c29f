import type { Type } from '@nestjs/common';
import type { Request } from 'express';
import type { Caller, CustomerScope } from '../auth';

/** Maximum length of a tool's result. A longer result would fill an agent's context. */
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
  /** Kind of change; omitted if the tool changes nothing. `final`: it spends the balance or ends a rental. */
  readonly effect?: 'adds' | 'final';
  /** Arguments of an example call in the tool's description. */
  readonly example: object;
  run(input: Input, call: ToolCall): Promise<object>;
}

export const tool = <Input extends object>(defined: Tool<Input>): Tool => defined;
