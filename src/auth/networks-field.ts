import { isNetwork } from '../common';
import { type FieldOptions, StringListField } from '../http';

const MOST_NETWORKS = 50;

/** Declares the networks from which a token or a link may be used; null if omitted. */
export const NetworksField = (options: FieldOptions = {}): PropertyDecorator =>
  StringListField({
    ...options,
    absent: 'null',
    atLeast: 1,
    atMost: MOST_NETWORKS,
    of: {
      isValid: isNetwork,
      type: 'ip_any_network',
      msg: 'Input should be an IP address, or a network in CIDR notation',
    },
  });
