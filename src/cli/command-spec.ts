import type { Type } from '@nestjs/common';
import { type Command, Option } from 'commander';
import { AuditContext, AuditLogService, type AuditTarget, type TargetType } from '../staff';
import { print, withServices } from './run';

declare const VALUE: unique symbol;

/** An option of a command; `Value` is the type that commander reads it as. */
export interface OptionSpec<Value> {
  readonly declare: (flag: string) => Option;
  /** Set when the option names what the command acts on. */
  readonly targetType?: TargetType;
  readonly [VALUE]?: Value;
}

type OptionSpecs = Readonly<Record<string, OptionSpec<unknown>>>;
export type OptionsOf<Specs extends OptionSpecs> = {
  readonly [Name in keyof Specs]: Specs[Name] extends OptionSpec<infer Value> ? Value : never;
};

/** Reads the argument of an option, or lists what it can be. */
type Values<Value> = ((text: string) => Value) | readonly (Value & string)[];

/** @param argument as the help shows it: `<id>` */
export const optional = <Value>(
  argument: string,
  description: string,
  values: Values<Value>,
): OptionSpec<Value | undefined> => ({
  declare: (flag) => {
    const option = new Option(`${flag} ${argument}`, description);
    return typeof values === 'function' ? option.argParser(values) : option.choices(values);
  },
});

export const required = <Value>(
  argument: string,
  description: string,
  values: Values<Value>,
): OptionSpec<Value> => ({
  declare: (flag) => optional(argument, description, values).declare(flag).makeOptionMandatory(),
});

export const withDefault = <Value>(
  option: OptionSpec<Value | undefined>,
  value: NoInfer<Value>,
): OptionSpec<Value> => ({
  declare: (flag) => option.declare(flag).default(value),
});

/** The id of what the command acts on. */
export const target = (
  targetType: TargetType,
  argument: string,
  parse: (text: string) => number,
): OptionSpec<number> => ({
  ...required(argument, `the ${targetType.replace('-', ' ')}`, parse),
  targetType,
});

/** An option without an argument. */
export const enabled = (description: string): OptionSpec<true | undefined> => ({
  declare: (flag) => new Option(flag, description),
});

interface CommandSpec<Specs extends OptionSpecs, Service> {
  /** The action in the audit log, as the route has it. Left out: `users.create` for `users create`. */
  readonly action?: string;
  /** The options by their names in camel case: `tgId` is `--tg-id`. */
  readonly options: Specs;
  readonly needsProvider?: (options: OptionsOf<Specs>) => boolean;
  /** Gives what the command prints: JSON, or lines of text. */
  readonly run: (service: Service, options: OptionsOf<Specs>, audit: AuditContext) => Promise<unknown>;
}

export type AddCommand = (cli: Command) => void;

const toCommand =
  (isRead: boolean) =>
  <Specs extends OptionSpecs, Service>(
    service: Type<Service>,
    name: string,
    description: string,
    { action = name.replace(' ', '.'), options: specs, needsProvider, run }: CommandSpec<Specs, Service>,
  ): AddCommand =>
  (cli) => {
    const command = commandOf(cli, name).description(description);
    for (const [option, { declare }] of Object.entries(specs)) command.addOption(declare(toFlag(option)));
    command.action((options: OptionsOf<Specs>) =>
      withServices(
        async (app) => {
          const audit = AuditContext.ofCommandLine(action, targetOf(specs, options), options);
          const auditLog = app.get(AuditLogService);
          const answer = await run(app.get(service), options, audit).catch(async (error: unknown) => {
            await auditLog.recordIfRefused(audit, error);
            throw error;
          });
          if (isRead) await auditLog.recordRead(audit);
          await print(answer);
        },
        { provider: needsProvider?.(options) ?? false },
      ),
    );
  };

/** A command that changes something, whose service records the change. */
export const change = toCommand(false);

/** A command that shows something: it is recorded before anything is printed. */
export const read = toCommand(true);

function targetOf<Specs extends OptionSpecs>(specs: Specs, options: OptionsOf<Specs>): AuditTarget | null {
  const [name, { targetType: type } = {}] = Object.entries(specs).find(([, spec]) => spec.targetType) ?? [];
  return name === undefined || type === undefined ? null : { type, id: options[name] as number };
}

/** The command of a name, with the commands that it is under. */
function commandOf(cli: Command, name: string): Command {
  return name
    .split(' ')
    .reduce(
      (parent, word) => parent.commands.find((one) => one.name() === word) ?? parent.command(word),
      cli,
    );
}

const toFlag = (name: string): string =>
  `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
