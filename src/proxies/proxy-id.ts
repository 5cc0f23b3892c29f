import { Param } from '@nestjs/common';
import { ApiParam } from '@nestjs/swagger';
import { decorateRoute, type ErrorsOfStatus } from '../http';
import { ProxyNotFound } from './proxies.errors';

const DESCRIPTION = ApiParam({
  name: 'proxy_id',
  description: 'The `id` of a proxy of the user; any other text returns 404',
  schema: { type: 'string', title: 'Proxy Id', example: '1' },
});

/** Injects the path's proxy id as a string, so that an invalid id returns 404 like an unknown one. */
export const ProxyIdParam = (): ParameterDecorator => (route, handler, index) => {
  Param('proxy_id')(route, handler, index);
  decorateRoute(DESCRIPTION, route, handler);
};

export const NO_SUCH_PROXY: ErrorsOfStatus = ['No proxy of the user has this id', ProxyNotFound];
