import { type INestApplicationContext, StreamableFile } from '@nestjs/common';
import { RouteParamtypes } from '@nestjs/common/internal';
import type { Command } from 'commander';
import type { Request } from 'express';
import { handlerArguments, inputOf, instanceOf, type Page, readInput } from '../http';
import {
  type AuditContext,
  auditContextOf,
  AuditLogService,
  type CommandRequest,
  STAFF_OPERATIONS,
  type StaffOperation,
} from '../staff';
import { parseText } from './options';
import {
  describeRefusal,
  type GivenOptions,
  parametersOf,
  type RouteCommand,
  toRequest,
} from './route-options';
import { getFromPayments, print, withServices } from './run';

export type AddCommand = (cli: Command) => void;

/** Adds a command that runs a staff route in the command's process. */
export const routeCommand =
  (name: string, spec: RouteCommand = {}): AddCommand =>
  (cli) => {
    const operation = STAFF_OPERATIONS.get(spec.action ?? name.replace(' ', '.'));
    if (!operation) throw new Error(`no route has the action of ${name}`);
    const { controller, handler, on, summary, description } = operation;
    const input = inputOf(controller, handler.name);
    const parameters = [...parametersOf(input, on, spec)];
    const text = `${summary}. ${spec.description ?? description}`;
    const command = commandOf(cli, name).summary(summary).description(text);
    if (spec.isSigned) command.requiredOption('--by <name>', 'The author of the change', parseText);
    for (const { option } of parameters) command.addOption(option);
    command.action(async (given: GivenOptions) => {
      const request = toRequest(parameters, given);
      try {
        // `readInput` reads only these fields of a request.
        readInput(input, request as unknown as Request);
      } catch (error) {
        command.error(describeRefusal(error, parameters));
      }
      const query = instanceOf(request.query);
      if (query && 'limit' in query) query.limit = spec.showsAll ?? given['limit'];
      const needs = { provider: spec.needsProvider?.(given) ?? false };
      await withServices(async (app) => print(await run(app, operation, request)), needs);
    });
  };

async function run(app: INestApplicationContext, operation: StaffOperation, request: CommandRequest) {
  const { controller, handler } = operation;
  const instance = getFromPayments(app, controller);
  const audit = auditContextOf(request, operation);
  const response = await app
    .get(AuditLogService)
    .recordRequest(audit, async () => handler.apply(instance, argumentsOf(operation, request, audit)));
  return printable(response as object);
}

/** Must match the arguments that Nest passes to the handler over HTTP. */
function argumentsOf({ controller, handler }: StaffOperation, request: CommandRequest, audit: AuditContext) {
  const given: unknown[] = [];
  for (const { kind, index, data } of handlerArguments(controller, handler.name)) {
    if (kind === RouteParamtypes.PARAM) given[index] = Number(request.params[data]);
    else if (kind === RouteParamtypes.HEADERS) given[index] = request.get(data);
    else if (kind === RouteParamtypes.QUERY) given[index] = instanceOf(request.query);
    else if (kind === RouteParamtypes.BODY) given[index] = instanceOf(request.body);
    else given[index] = audit;
  }
  return given;
}

function printable(response: object): unknown {
  if (response instanceof StreamableFile) return response.getStream();
  if (!('next_cursor' in response)) return response;
  const { next_cursor: _, ...page } = response as Page<unknown, unknown>;
  return Object.keys(page).length === 1 ? page.items : page;
}

const commandOf = (cli: Command, name: string): Command =>
  name
    .split(' ')
    .reduce(
      (parent, word) => parent.commands.find((one) => one.name() === word) ?? parent.command(word),
      cli,
    );
