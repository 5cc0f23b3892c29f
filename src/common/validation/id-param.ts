import { Param, type PipeTransform } from '@nestjs/common';
import { readInteger } from './read-integer';
import { Refusal } from './refusal';
import { RequestInvalid } from './request-invalid';

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
