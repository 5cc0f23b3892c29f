import { Query } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants';
import { RouteParamtypes } from '@nestjs/common/internal';
import { handlerArguments } from './route-input';

it('An argument that a decorator of our own injects is never taken for a part of the request', () => {
  class TestController {
    read(@Query('page') page: string): string {
      return page;
    }
  }
  const taken = Reflect.getMetadata(ROUTE_ARGS_METADATA, TestController, 'read') as object;
  // Nest gives such decorators random names.
  const custom = { [`${RouteParamtypes.BODY}f__customRouteArgs__:1`]: { index: 1, data: undefined } };
  Reflect.defineMetadata(ROUTE_ARGS_METADATA, { ...taken, ...custom }, TestController, 'read');
  expect(handlerArguments(TestController, 'read')).toEqual([
    { kind: RouteParamtypes.QUERY, index: 0, data: 'page' },
    { kind: Number.NaN, index: 1, data: undefined },
  ]);
});
