import { Param, type PipeTransform } from '@nestjs/common';
import { readInteger } from './readers/read-integer';
import { Refusal } from './refusal';
import { RequestInvalid } from './request-invalid';

/** Reads an id in any spelling of an integer (`+0042`, `4_2`); null when it is not a positive integer. */
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

/** An id in the path. Anything but a positive integer is answered 422. */
export const IdParam = (name: string) => Param(name, new IdPipe(name));
