import { Param, type PipeTransform } from '@nestjs/common';
import { readInteger } from './read-integer';
import { Refusal } from './refusal';
import { RequestInvalid } from './request-invalid';

/** The number that a part of the path is read as, however it is written (`+0042`, `4_2`); null when it is none. */
export function readId(text: string): number | null {
  const id = readInteger(text, { greaterThan: 0 });
  return id instanceof Refusal ? null : id;
}

class IdPipe implements PipeTransform<string> {
  constructor(private readonly name: string) {}

  transform(text: string): number {
    const id = readInteger(text, { greaterThan: 0 });
    if (id instanceof Refusal) throw new RequestInvalid([id.at('path', this.name)]);
    return id;
  }
}

/** A number in the path; anything else is a 422. */
export const IdParam = (name: string) => Param(name, new IdPipe(name));
