import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { instanceOf } from './read-input';

/** Replaces query and body with the DTO instances that `RequestInputGuard` created. */
@Injectable()
export class RequestValidationPipe implements PipeTransform<unknown> {
  transform(value: unknown, { type }: ArgumentMetadata): unknown {
    if (type !== 'query' && type !== 'body') return value;
    return typeof value === 'object' && value !== null ? (instanceOf(value) ?? value) : value;
  }
}
