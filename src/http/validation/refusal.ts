import type { JsonObject, JsonValue } from '../json/json-value';

/** Why an input was refused, in Pydantic's words: an item of the 422 answer, except for its location. */
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

/** Why some items of a list, or some fields of an object, were refused. */
export class RefusedItems {
  constructor(private readonly items: readonly (readonly [key: string | number, Refusal | RefusedItems])[]) {}

  at(...loc: readonly (string | number)[]): ValidationItem[] {
    return this.items.flatMap(([key, refusal]) => refusal.at(...loc, key));
  }
}

/** One item of the 422 answer. */
export type ValidationItem = Readonly<{
  type: string;
  loc: readonly (string | number)[];
  msg: string;
  input: JsonValue;
  ctx?: JsonObject;
}>;
