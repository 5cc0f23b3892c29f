import {
  assertTransitionTable,
  OPEN_STATES,
  ORDER_STATES,
  POSSIBLY_BOUGHT_STATES,
  statesBefore,
  UNATTENDED_STATES,
} from './order-states';

describe('The states of an order', () => {
  it('are open or closed', () => {
    expect(ORDER_STATES).toEqual([...OPEN_STATES, 'completed', 'partial', 'refunded']);
  });

  it('may mean a purchase from the claim on', () => {
    expect(POSSIBLY_BOUGHT_STATES).toEqual(['submitting', 'confirming', 'review']);
  });

  it('are reconciled until staff have to decide', () => {
    expect(UNATTENDED_STATES).toEqual(['reserved', 'submitting', 'confirming']);
  });

  it('guard each transition by the states that it may start from', () => {
    expect(statesBefore('submitting')).toEqual(['reserved']);
    expect(statesBefore('reserved')).toEqual(['submitting']);
    expect(statesBefore('confirming')).toEqual(['submitting']);
    expect(statesBefore('review')).toEqual(['submitting', 'confirming']);
    expect(statesBefore('completed')).toEqual(POSSIBLY_BOUGHT_STATES);
    expect(statesBefore('partial')).toEqual(POSSIBLY_BOUGHT_STATES);
    expect(statesBefore('refunded')).toEqual(OPEN_STATES);
  });
});

describe('A table of transitions', () => {
  it.each([
    ['names a state without a row', { new: ['paid'] }, 'the state paid has no row of its own'],
    ['has a state that nothing leads to', { new: [], lost: [] }, 'the state lost cannot be reached from new'],
    ['goes round without an end', { new: ['old'], old: ['new'] }, 'the state new leads to no end'],
  ])('is refused when it %s', (_, table, message) => {
    expect(() => assertTransitionTable(table, 'new')).toThrow(message);
  });
});
