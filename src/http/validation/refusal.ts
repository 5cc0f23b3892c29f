import { DomainError } from '../../common';
import { type JsonObject, type JsonValue, writeJson } from '../json/json-value';

/** The refusal of an input in Pydantic's words: an item of the 422 response without its location. */
export class Refusal {
  constructor(
    readonly type: string,
    readonly msg: string,
    readonly input: JsonValue,
    readonly ctx?: JsonObject,
  ) {}

  /** @param loc the location, e.g. `['body', 'period']` */
  at(...loc: readonly (string | number)[]): ValidationItem {
    const { type, msg, input, ctx } = this;
    return { type, loc, msg, input, ...(ctx && { ctx }) };
  }
}

/** The refusals of some items of a list, or of some fields of an object. */
export class RefusedItems {
  constructor(private readonly items: readonly (readonly [key: string | number, Refusal | RefusedItems])[]) {}

  get count(): number {
    return this.items.reduce((sum, [, one]) => sum + (one instanceof Refusal ? 1 : one.count), 0);
  }

  *at(...loc: readonly (string | number)[]): Generator<ValidationItem> {
    for (const [key, refusal] of this.items) {
      if (refusal instanceof Refusal) yield refusal.at(...loc, key);
      else yield* refusal.at(...loc, key);
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

/** The request fails validation. The response is a 422 with these items as its `detail`. */
export class RequestInvalid extends DomainError {
  readonly kind = 'validation';
  private text: string | undefined;

  constructor(readonly items: readonly ValidationItem[]) {
    super(items.map(({ msg }) => msg).join('; '));
  }

  /** Returns the items as JSON. Writes them once, because they may contain a large body several times. */
  write(): string {
    return (this.text ??= writeJson(this.items));
  }
}
