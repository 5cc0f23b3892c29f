import { DomainError } from '../../common';
import type { ValidationItem } from './refusal';

/** The request fails validation: 422 with these items as its `detail`. */
export class RequestInvalid extends DomainError {
  readonly kind = 'validation';

  constructor(readonly items: readonly ValidationItem[]) {
    super(items.map(({ msg }) => msg).join('; '));
  }
}
