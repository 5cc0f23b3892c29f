import type { Type } from '@nestjs/common';
import { ApiProperty, type ApiPropertyOptions } from '@nestjs/swagger';

/** Keys of Swagger's metadata. Each name in the list of fields begins with a colon. */
const FIELDS = 'swagger/apiModelPropertiesArray';
const FIELD = 'swagger/apiModelProperties';

// These functions replace Swagger's own of the same names, which would load all of class-validator.

export const OmitType = <Dto extends object, const Omitted extends keyof Dto & string>(
  dto: Type<Dto>,
  omitted: readonly Omitted[],
): Type<Omit<Dto, Omitted>> => copyOf([dto], (name) => !omitted.some((one) => one === name));

export const PickType = <Dto extends object, const Picked extends keyof Dto & string>(
  dto: Type<Dto>,
  picked: readonly Picked[],
): Type<Pick<Dto, Picked>> => copyOf([dto], (name) => picked.some((one) => one === name));

export const IntersectionType = <First extends object, Second extends object>(
  first: Type<First>,
  second: Type<Second>,
): Type<First & Second> => copyOf([first, second], () => true);

function copyOf<Dto>(dtos: readonly Type<object>[], includes: (name: string) => boolean): Type<Dto> {
  class Copy {}
  for (const { prototype } of dtos) {
    const names = (Reflect.getMetadata(FIELDS, prototype) as readonly string[]).map((name) => name.slice(1));
    for (const name of names.filter(includes)) {
      const description = Reflect.getMetadata(FIELD, prototype, name) as ApiPropertyOptions;
      ApiProperty(description)(Copy.prototype, name);
    }
  }
  return Copy as Type<Dto>;
}
