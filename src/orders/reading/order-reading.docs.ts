import { applyDecorators } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam } from '@nestjs/swagger';
import { ApiErrorResponse, ApiValidationErrorResponse, INVALID_PERIOD, notOneOf } from '../../http';
import { ALL_TOLD_STATES } from '../order-states';
import { OrderDetails, OrderSummaryPage } from './dto/order.dto';
import { LONGEST_WAIT_SECONDS } from './dto/orders.query';

export const ListOrdersDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Orders',
      description:
        'The orders of the user that match all of the given parameters, newest first, a page at a time: ' +
        'send `next_cursor` as `cursor` until it is null. However many orders are placed meanwhile, pages ' +
        'skip none and repeat none. `from` is included and `to` is not. The order of a request whose ' +
        'answer was lost, or was `the order of request … is being confirmed`, is found by its `key`, if ' +
        'it was placed at all.',
    }),
    ApiOkResponse({ description: 'A page of orders', type: OrderSummaryPage }),
    ApiErrorResponse(400, ...INVALID_PERIOD),
    ApiValidationErrorResponse(notOneOf('state', ALL_TOLD_STATES, 'lost')),
  );

export const ReadOrderDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Order',
      description:
        'An order of the user. This is where `Location` of an answer `order 42 is being confirmed` leads. ' +
        `With \`wait\` of up to ${LONGEST_WAIT_SECONDS} seconds the answer waits for the end of the order; ` +
        'ask again while it is still `open` or `being_confirmed`. The proxies themselves are in ' +
        '`GET /proxies`.',
    }),
    ApiParam({
      name: 'order_id',
      description: 'The `id` of an order of the user; any other text is answered with 404',
      // Responses have it as an integer, and clients wrote it into the path as text.
      schema: { anyOf: [{ type: 'integer' }, { type: 'string' }], title: 'Order Id', example: 1 },
    }),
    ApiOkResponse({ description: 'The order', type: OrderDetails }),
    ApiErrorResponse(404, 'No order of the user has this id', 'Order not found'),
    ApiValidationErrorResponse({
      type: 'less_than_equal',
      loc: ['query', 'wait'],
      msg: `Input should be less than or equal to ${LONGEST_WAIT_SECONDS}`,
      input: '600',
      ctx: { le: LONGEST_WAIT_SECONDS },
    }),
  );
