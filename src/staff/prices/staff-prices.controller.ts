import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiExtraModels, ApiTags } from '@nestjs/swagger';
import type { PricePreviewOut } from '../../catalog';
import { IdParam } from '../../http';
import type { AuditContext } from '../audit-log/audit-context';
import { CurrentAudit, StaffRoute } from '../staff-route';
import {
  AddPriceRuleDocs,
  EndPriceRuleDocs,
  FindMarkupDocs,
  ListPriceRulesDocs,
  PreviewPricesDocs,
  ReadPriceRuleDocs,
} from './staff-prices.docs';
import {
  EndPriceRuleRequest,
  type HeldMarkupOut,
  NewPriceRuleRequest,
  PreviewRequest,
  PriceRuleFields,
  type PriceRuleOut,
  type PriceRulesPage,
  PriceRulesQuery,
  toNewPriceRule,
  WhichQuery,
} from './staff-prices.dto';
import { StaffPricesService } from './staff-prices.service';

@ApiTags('Prices')
@ApiExtraModels(PriceRuleFields)
@Controller('staff/price-rules')
export class StaffPricesController {
  constructor(private readonly prices: StaffPricesService) {}

  @Get()
  @ListPriceRulesDocs()
  @StaffRoute({ scope: 'staff:system', action: 'prices.list' })
  list(@Query() query: PriceRulesQuery): Promise<PriceRulesPage> {
    return this.prices.list({ history: query.history, userId: query.user_id ?? undefined }, query);
  }

  @Get('which')
  @FindMarkupDocs()
  @StaffRoute({ scope: 'staff:system', action: 'prices.which' })
  which(@Query() { user_id: userId, country, version, period, at }: WhichQuery): Promise<HeldMarkupOut> {
    return this.prices.findMarkup({ userId, country, version, period }, at ?? undefined);
  }

  @Get(':rule_id')
  @ReadPriceRuleDocs()
  @StaffRoute({ scope: 'staff:system', action: 'prices.read', on: 'price-rule' })
  read(@IdParam('rule_id') ruleId: number): Promise<PriceRuleOut> {
    return this.prices.get(ruleId);
  }

  @Post()
  @AddPriceRuleDocs()
  @StaffRoute({ scope: 'staff:system', action: 'prices.add' })
  add(@CurrentAudit() audit: AuditContext, @Body() body: NewPriceRuleRequest): Promise<PriceRuleOut> {
    const { reason, replaces } = body;
    return this.prices.add(audit, toNewPriceRule(body), { reason, replaces: replaces ?? undefined });
  }

  @Post('preview')
  @HttpCode(200)
  @PreviewPricesDocs()
  @StaffRoute({ scope: 'staff:system', action: 'prices.preview' })
  preview(@Body() { add, end }: PreviewRequest): Promise<PricePreviewOut> {
    return this.prices.preview({ add: add ? toNewPriceRule(add) : undefined, end: end ?? undefined });
  }

  @Post(':rule_id/end')
  @HttpCode(200)
  @EndPriceRuleDocs()
  @StaffRoute({ scope: 'staff:system', action: 'prices.end', on: 'price-rule' })
  end(
    @CurrentAudit() audit: AuditContext,
    @IdParam('rule_id') ruleId: number,
    @Body() { reason, at }: EndPriceRuleRequest,
  ): Promise<PriceRuleOut> {
    return this.prices.end(audit, ruleId, { reason, at: at ?? undefined });
  }
}
