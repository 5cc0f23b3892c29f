import type { Type } from '@nestjs/common';
import type { Request } from 'express';
import type { Caller, CustomerScope } from '../auth';

/** More would fill an agent's conversation. */
export const MAX_RESULT_LENGTH = 64 * 1024;
/** A longer result repeats no lists in its text. */
export const LONG_RESULT_LENGTH = 16 * 1024;

/** The request with which an agent calls a tool. */
export interface ToolCall {
  readonly caller: Caller;
  /** The hash of the caller's token, in hex. */
  readonly tokenHash: string;
  readonly request: Request;
  /** Aborted when the agent disconnects. */
  readonly hungUp: AbortSignal;
}

/** A tool of agents has no rule of its own: it calls the use case that a route calls, too. */
export interface Tool<Input extends object = object> {
  readonly name: string;
  readonly description: string;
  /** Tokens without it do not see the tool. */
  readonly scope: CustomerScope;
  readonly input: Type<Input>;
  readonly output: Type<object>;
  /** Omitted for a tool that changes nothing. `final`: it spends balance, or ends a rental. */
  readonly effect?: 'adds' | 'final';
  /** The arguments of a call, for agents that learn from examples. */
  readonly example: object;
  run(input: Input, call: ToolCall): Promise<object>;
}

/** Infers the type of a tool's input. */
export const tool = <Input extends object>(defined: Tool<Input>): Tool => defined;
