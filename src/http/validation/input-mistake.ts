import { DomainError } from '../../common';
import { type JsonObject, type JsonValue, writeJson } from '../json/json-value';

/** An item of a 422 response in Pydantic's words, without its location. */
export class InputMistake {
  constructor(
    readonly type: string,
    readonly msg: string,
    readonly input: JsonValue,
    readonly ctx?: JsonObject,
  ) {}

  /** @param loc e.g. `['body', 'period']` */
  at(...loc: readonly (string | number)[]): ValidationItem {
    const { type, msg, input, ctx } = this;
    return { type, loc, msg, input, ...(ctx && { ctx }) };
  }
}

/** Mistakes in items of a list, or in fields of an object. */
export class ItemMistakes {
  constructor(
    private readonly items: readonly (readonly [key: string | number, InputMistake | ItemMistakes])[],
  ) {}

  get count(): number {
    return this.items.reduce((sum, [, one]) => sum + (one instanceof InputMistake ? 1 : one.count), 0);
  }

  *at(...loc: readonly (string | number)[]): Generator<ValidationItem> {
    for (const [key, mistake] of this.items) {
      if (mistake instanceof InputMistake) yield mistake.at(...loc, key);
      else yield* mistake.at(...loc, key);
    }
  }
}

export type ValidationItem = Readonly<{
  type: string;
  loc: readonly (string | number)[];
  msg: string;
  input?: JsonValue;
  ctx?: JsonObject;
}>;

export class RequestInvalid extends DomainError {
  readonly kind = 'validation';
  private text: string | undefined;

  constructor(readonly items: readonly ValidationItem[]) {
    super(items.map(({ msg }) => msg).join('; '));
  }

  /** Caches the JSON, because items may repeat a large body several times. */
  write(): string {
    return (this.text ??= writeJson(this.items));
  }
}
