import type { Type } from '@nestjs/common';
import { type Command, Option } from 'commander';
import { AuditContext, AuditLogService, type AuditTarget } from '../staff';
import { print, withServices } from './run';

declare const VALUE: unique symbol;

/** An option of a command; `Value` is the type that commander reads it as. */
export interface OptionSpec<Value> {
  readonly declare: (flag: string) => Option;
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

/** An option without an argument. */
export const enabled = (description: string): OptionSpec<true | undefined> => ({
  declare: (flag) => new Option(flag, description),
});

interface CommandSpec<Specs extends OptionSpecs, Service> {
  /** `users create` */
  readonly name: string;
  readonly description: string;
  /** The name of the action in the audit log, which is that of the route. */
  readonly action: string;
  /** The options by their names in camel case: `tgId` is `--tg-id`. */
  readonly options: Specs;
  readonly target?: (options: OptionsOf<Specs>) => AuditTarget;
  readonly needsProvider?: (options: OptionsOf<Specs>) => boolean;
  readonly service: Type<Service>;
  /** Gives what the command prints: JSON, or lines of text. */
  readonly run: (service: Service, options: OptionsOf<Specs>, audit: AuditContext) => Promise<unknown>;
}

export type AddCommand = (cli: Command) => void;

/** A command that changes something, whose service records the change. */
export const change = <Specs extends OptionSpecs, Service>(spec: CommandSpec<Specs, Service>): AddCommand =>
  toCommand(spec, false);

/** A command that shows something: it is recorded before anything is printed. */
export const read = <Specs extends OptionSpecs, Service>(spec: CommandSpec<Specs, Service>): AddCommand =>
  toCommand(spec, true);

function toCommand<Specs extends OptionSpecs, Service>(
  spec: CommandSpec<Specs, Service>,
  isRead: boolean,
): AddCommand {
  return (cli) => {
    const command = commandOf(cli, spec.name).description(spec.description);
    for (const [name, option] of Object.entries(spec.options)) {
      command.addOption(option.declare(toFlag(name)));
    }
    command.action((options: OptionsOf<Specs>) =>
      withServices(
        async (app) => {
          const audit = AuditContext.ofCommandLine(spec.action, spec.target?.(options) ?? null, options);
          const answer = await spec.run(app.get(spec.service), options, audit);
          if (isRead) await app.get(AuditLogService).recordRead(audit);
          await print(answer);
        },
        { provider: spec.needsProvider?.(options) ?? false },
      ),
    );
  };
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
