//! Closed-class words, and verbs with their forms.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::word_class::WordClass;

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident = $words:expr;)*) => {$(
        $(#[$doc])*
        pub(super) static $name: WordClass = WordClass::new($words);
    )*};
}

classes! {
    ARTICLES = "a an the";
    /// Words that start a noun phrase.
    DETERMINERS = "a an the this that these those each every another any some no both either neither
        all many most several few much more less such various numerous my our your his her its their";
    PERSONAL_PRONOUNS = "i we you he she it they me us him them himself herself itself themselves
        myself ourselves one ones someone anyone everyone something anything everything nothing";
    POSSESSIVE_PRONOUNS = "my your his her its their our mine ours yours hers theirs";
    DEMONSTRATIVES = "this that these those";
    PREPOSITIONS = "of in on at by for from to with without within into onto upon about against among
        around across along behind below beneath beside besides between beyond during despite
        except inside outside near over under past through throughout toward towards via per
        above after before since until till as like unlike off out up down than versus alongside amid
        following including excluding regarding concerning using";
    /// Words that start a clause.
    CLAUSE_STARTERS = "that which who whom whose where when while whereas because although though if
        unless whether why how what so but yet nor lest whenever wherever once until till since as
        than before after except";
    /// Words that start a clause which a question can leave out.
    RELATIVES = "which who whom whose where when while whereas although though but";
    CONJUNCTIONS = "and or but nor yet so &";
    NEGATIONS = "not never neither nor cannot hardly scarcely barely none nobody nothing";
    /// Adverbs that are not recognized by their suffix.
    ADVERBS = "also often then thus hence therefore however still again always sometimes now later soon
        already even just only almost quite rather very too here there today once perhaps instead
        indeed further furthermore moreover otherwise nevertheless nonetheless meanwhile together
        first second third finally respectively subsequently long alone ever originally well";
    /// Adverbs that tie a sentence to the one before it.
    CONNECTIVES = "also thus hence therefore however then again instead indeed further furthermore
        moreover otherwise nevertheless nonetheless meanwhile finally too similarly consequently
        additionally accordingly likewise subsequently still now already even only just first second
        third respectively once";
    /// Nouns that end like adverbs.
    LY_NOUNS = "family families assembly supply ally fly reply anomaly monopoly italy july belly bully
        jelly butterfly homily lily tally rally italy sicily kelly emily billy polly holly anomaly
        doily folly gully hillbilly melancholy panoply potbelly sly early only daily weekly monthly
        yearly likely friendly elderly lonely lovely costly deadly holy ugly orderly timely scholarly";
    /// Nouns and determiners without meaning of their own.
    VAGUE = "former latter other others same another one ones first last following above thing things
        case fact reason result example lot bit kind sort type way rest remainder number majority
        minority part half some many most several few all both each every any more less such it this
        that these those none much either neither various numerous only next previous second third
        matter question point idea answer problem issue process term goal aim purpose";
    /// Verbs that take a clause without "that" as object.
    CLAUSE_VERBS = "say says said believe believes believed think thinks thought claim claims claimed
        argue argues argued suggest suggests suggested know knows knew hope hopes hoped feel feels felt
        find finds found indicate indicates indicated assume assumes assumed conclude concludes
        concluded confirm confirms confirmed ensure ensures ensured estimate estimates estimated
        imply implies implied insist insists insisted mean meant note notes noted realize realizes
        realized recall report reported reveal reveals revealed state stated suppose supposed show
        shows showed demonstrate demonstrates demonstrated declare declared announce announced";
    /// Adjectives that refer to an earlier sentence.
    BACK_REFERENCES = "former latter other others same following above previous next resulting
        aforementioned corresponding respective such";
    MONTHS = "january february march april may june july august september october november december";
    NUMBERS = "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
        sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety
        dozens hundreds thousands millions";
    MULTIPLES = "hundred thousand million billion trillion dozen";
    /// Units of measurement. No question with "how many" asks for one.
    UNITS = "dollars euros pounds yen percent kilometers kilometres miles meters metres feet inches
        acres hectares tons tonnes kilograms grams liters litres degrees percentages points km yards
        watts volts hertz";
    /// Plural nouns without the suffix -s.
    PLURALS = "people men women children mice feet teeth geese oxen criteria phenomena data
        media bacteria nuclei stimuli alumni fungi species series fish sheep deer aircraft
        spacecraft";
    /// Nouns of persons that their suffix does not show.
    PERSONS = "president king queen emperor empress prince princess pope bishop archbishop cardinal
        saint monk nun priest pastor minister chancellor mayor governor senator general
        admiral colonel captain commander chief chairman chairwoman chair secretary
        ambassador judge lawyer attorney professor teacher lecturer doctor nurse engineer
        architect author writer poet novelist playwright journalist editor composer singer
        songwriter rapper musician drummer guitarist actor actress comedian dancer director
        filmmaker painter sculptor photographer designer inventor explorer philosopher
        mathematician scholar scientist researcher programmer student apprentice pupil
        farmer merchant banker trader soldier warrior officer ruler co-founder coach player
        footballer quarterback linebacker cornerback kicker batsman bowler wrestler boxer
        cyclist swimmer athlete husband wife father mother son daughter brother sister uncle
        aunt cousin nephew niece grandson grandfather grandmother man woman boy girl person
        child duke duchess earl count baron lord lady knight sultan caliph khan shah tsar
        czar theologian missionary reformer preacher prophet activist advocate politician
        statesman diplomat historian librarian entrepreneur businessman businesswoman ceo
        presenter broadcaster anchor astronaut pilot navigator sailor spokesman spokesperson
        thinker hero nobleman aristocrat noble friend colleague resident citizen immigrant
        refugee veteran graduate fellow laureate candidate genius orphan slave servant
        peasant criminal prisoner victim survivor martyr rebel hunter traveler critic mentor
        lover human";
    /// Nouns of persons, and of organizations, places and things.
    ROLES = "member producer host star leader champion winner loser recipient rival owner
        publisher supporter opponent follower enemy predecessor successor heir descendant
        ancestor speaker reader contemporary translator collector native founder manager
        guest runner";
    /// Nouns of organizations, of which "who" and "what" are asked when they act.
    ORGANIZATIONS = "government council committee company team university parliament army court navy
        party club crew corporation senate ministry agency administration congress board";
    /// Nouns in -er and -or that are not persons.
    THINGS = "computer number paper order river layer parser transformer encoder decoder classifier
        tower letter matter power water center chapter cluster filter parameter meter register
        server router tensor vector factor sector motor reactor processor detector sensor operator
        corridor harbor border corner theater newspaper quarter semester winter summer folder buffer
        pointer counter answer offer transfer layer cancer disorder fever polymer liver paper
        identifier descriptor tutor color flavor error mirror floor door optimizer tokenizer
        estimator predictor generator discriminator adapter container compiler interpreter
        wrapper crawler ranker retriever refrigerator conductor semiconductor monitor predator
        indicator vapor tumor labor behavior humor honor favor rumor terror horror error metaphor
        character helicopter manner";
    /// Heads of documents, which "this" can refer to in a question.
    DOCUMENTS = "paper work article study thesis survey report chapter book tutorial";
    /// Heads of the complements of names that are not of persons.
    THING_HEADS = "city town village state country nation province district county region area island
        continent mountain river lake sea ocean valley desert forest rainforest park garden square
        street road bridge station airport port stadium arena theater museum library school college
        university hospital church cathedral temple palace castle fort building house hotel prison
        company corporation firm bank manufacturer newspaper magazine journal book novel poem play
        song album single film movie documentary show series episode game program software
        language dialect religion movement party union league organization institution
        agency department ministry court team club band orchestra festival event war battle siege
        treaty law act theory method algorithm model system protocol standard format tool framework
        toolkit dataset benchmark corpus network architecture machine device instrument engine vehicle
        aircraft ship satellite rocket planet moon galaxy protein enzyme gene hormone drug
        disease virus bacterium plant tree animal species genus family metal gas liquid element
        compound mineral mixture food drink currency sport suite set form center
        capital process technique approach technology product brand channel";
    /// Verbs with "for" or "to" and a purpose after the object.
    PURPOSEFUL_VERBS = "use employ apply introduce develop devise build create design leverage utilize
        adopt propose present construct";
    /// Participles with a place.
    LOCATED = "located situated based headquartered held born buried found housed built";
    /// Verbs with persons or organizations as agents.
    AGENT_VERBS = "write found design direct compose paint discover invent build lead publish introduce
        propose win develop create establish coin produce pioneer sign approve commission
        rule defeat conquer assassinate adopt own acquire purchase organize host name
        formulate describe demonstrate patent translate edit illustrate perform record
        nominate appoint elect criticize popularize";
    /// Verbs with a base form and a third person that are nouns as well.
    NOUN_LIKE = "design release review test issue name record process limit link damage challenge face
        experience influence host cover train track exhibit target yield display feature increase
        decrease attack move offer launch estimate visit plan lead control support help measure
        rule transfer map draw catch deal play work end start fall rise return live handle paint
        address extract kill purchase permit ban change combine address exploit export import
        advance express joint supply finance foster focus document assign function value model sample
        show study report result state form cause point place rank score answer question claim aim
        fight hold drive pay wear drink open close appeal process patent compress pioneer found
        project travel refuse object subject content present parse approach capture treat arrest assist award
        block crown grant guide label mark monitor pass power pump repeal rescue shape share sign
        sponsor store trigger update witness";
    /// Nouns before an infinitive that belongs to them.
    INFINITIVE_NOUNS = "ability able attempt attempts capacity chance decision desire effort efforts
        failure freedom incentive license need needs opportunity order permission plan plans power
        reason right rights tendency time way ways willingness first last enough how likely ways
        approach approaches method methods algorithm algorithms technique techniques tool tools
        model models framework system systems strategy strategies mechanism procedure network";
}

/// Verb with its forms.
#[derive(Debug)]
pub(super) struct Verb {
    pub(super) base: &'static str,
    third: String,
    past: String,
    participle: String,
    /// Preposition that the verb needs; transitive if none.
    pub(super) preposition: Option<&'static str>,
    /// If `true`, the verb takes neither an object nor a preposition.
    pub(super) is_intransitive: bool,
}

/// Finite form of a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VerbForm {
    /// Base form of the verb: "they use".
    Base,
    /// Third person of the present: "it uses".
    Third,
    /// Past tense: "it used".
    Past,
}

/// Regular verbs with an object. Verbs are left out if their third person is mostly a noun (result,
/// state, form).
const TRANSITIVE: &str = "abolish absorb accelerate accept accompany accomplish achieve acquire
    activate adapt address adopt affect allow analyze annotate announce apply appoint approve approximate arrange
    assassinate assess assign assume attack attain attract automate avoid calculate capture celebrate
    challenge change characterize cite classify coin collect combine commission compare complete
    compose compress comprise compute conduct conquer consider construct consume contain convert cover
    create criticize damage declare decrease defeat define deliver demonstrate deploy derive describe
    design destroy detect determine develop devise direct discover discuss display dissolve
    distinguish divide dominate earn edit elect eliminate emphasize employ enable encode encounter
    encourage enhance ensure enter establish estimate evaluate examine exceed exhibit expand experience
    explain exploit explore expose express extend extract face facilitate feature finance finish
    follow formulate foster found fund generate govern guarantee handle help host identify ignore
    illustrate imitate implement import improve include incorporate increase indicate infect influence
    inhabit inherit inspire install integrate introduce invade invent investigate involve issue join
    justify kill lack launch leverage limit link locate maintain manage manufacture maximize measure
    merge minimize mitigate modify motivate move name nominate observe obtain occupy offer operate
    optimize organize outline outperform overcome own paint parse patent perform pioneer
    popularize possess praise precede predict prepare preserve prevent process produce prohibit promote
    propose protect provide publish purchase pursue quantify reach receive recognize recommend
    reconstruct record recover reduce reflect regulate reject release remove render replace represent
    require resemble resolve restore restrict retain retrieve reveal review rule
    select separate serve solve stimulate strengthen suffer summarize support suppress surpass
    surround survive tackle target test trace track train transform translate treat unify use utilize
    validate verify violate visit vary yield
    accuse amend annex arrest assist attend award block cancel carry cause compile condemn connect crown
    depict defend dismiss donate educate embrace enact enforce erect execute fill grant guide imprison
    initiate inject isolate label mark marry monitor negotiate oppose pass power present proclaim pump
    ratify renovate repeal rescue secure seize shape share sign sponsor store synthesize threaten
    trigger undermine unite update weaken witness";

/// Verbs with irregular or doubled forms: base, past and, if it differs, participle.
const IRREGULAR: &str = "win/won write/wrote/written build/built lead/led begin/began/begun
    give/gave/given take/took/taken make/made hold/held keep/kept lose/lost sell/sold send/sent
    bring/brought teach/taught buy/bought catch/caught choose/chose/chosen draw/drew/drawn
    drive/drove/driven eat/ate/eaten fight/fought forbid/forbade/forbidden outdo/outdid/outdone
    overtake/overtook/overtaken plan/planned rebuild/rebuilt sing/sang/sung speak/spoke/spoken
    steal/stole/stolen submit/submitted transfer/transferred transmit/transmitted
    undergo/underwent/undergone understand/understood wear/wore/worn permit/permitted
    commit/committed control/controlled equip/equipped ban/banned map/mapped pay/paid";

/// Verbs with the preposition that they need.
const PREPOSITIONAL: &str = "consist/of refer/to depend/on belong/to rely/on focus/on
    lead/to result/in contribute/to correspond/to derive/from originate/from differ/from
    benefit/from participate/in specialize/in aim/at deal/with account/for adhere/to";

/// Verbs without an object, with irregular or doubled forms as in [`IRREGULAR`].
const INTRANSITIVE: &str = "occur/occurred die arrive begin/began/begun end emerge happen
    appear become/became/become remain retire collapse live rise/rose/risen fall/fell/fallen
    grow/grew/grown come/came/come go/went/gone serve work play graduate disappear expire exist
    start move return open close";

/// Doubled consonants, which the suffix rules do not know.
const DOUBLED: [(&str, &str); 1] = [("refer", "referred")];

static VERBS: LazyLock<Vec<Verb>> = LazyLock::new(|| {
    let mut verbs = Vec::new();
    for (list, is_intransitive) in [
        (TRANSITIVE, false),
        (IRREGULAR, false),
        (INTRANSITIVE, true),
    ] {
        for item in list.split_whitespace() {
            let mut forms = item.split('/');
            let base = forms.next().unwrap_or(item);
            let past = forms.next().map_or_else(|| past(base), str::to_owned);
            let participle = forms.next().map_or_else(|| past.clone(), str::to_owned);
            verbs.push(Verb {
                base,
                third: third(base),
                past,
                participle,
                preposition: None,
                is_intransitive,
            });
        }
    }
    for item in PREPOSITIONAL.split_whitespace() {
        if let Some((base, preposition)) = item.split_once('/') {
            let past = DOUBLED.iter().find(|(verb, _)| *verb == base);
            let irregular = verbs.iter().find(|verb| verb.base == base);
            let past = past.map(|(_, past)| (*past).to_owned());
            let past = past.or_else(|| irregular.map(|verb| verb.past.clone()));
            let past = past.unwrap_or_else(|| self::past(base));
            verbs.push(Verb {
                base,
                third: third(base),
                participle: past.clone(),
                past,
                preposition: Some(preposition),
                is_intransitive: false,
            });
        }
    }
    verbs
});

/// Numbers of the verbs with a form.
static FINITE: LazyLock<HashMap<&'static str, Vec<(usize, VerbForm)>>> = LazyLock::new(|| {
    let mut forms: HashMap<&'static str, Vec<(usize, VerbForm)>> = HashMap::new();
    for (number, verb) in VERBS.iter().enumerate() {
        let of_verb = [
            (verb.base, VerbForm::Base),
            (&verb.third, VerbForm::Third),
            (&verb.past, VerbForm::Past),
        ];
        for (form, kind) in of_verb {
            forms.entry(form).or_default().push((number, kind));
        }
    }
    forms
});

/// Verbs that have a word as a finite form.
pub(super) fn finite_verbs(word: &str) -> impl Iterator<Item = (&'static Verb, VerbForm)> {
    let found = FINITE.get(word).map_or(&[][..], Vec::as_slice);
    found.iter().map(|&(number, form)| (&VERBS[number], form))
}

/// The transitive verb with a past participle.
pub(super) fn verb_of_participle(word: &str) -> Option<&'static Verb> {
    let mut verbs = VERBS.iter();
    verbs
        .find(|verb| verb.participle == word && verb.preposition.is_none() && !verb.is_intransitive)
}

/// Returns `true` if a word is the base form of a verb.
pub(super) fn is_base(word: &str) -> bool {
    matches!(word, "be" | "have" | "do") || finite_verbs(word).any(|(_, it)| it == VerbForm::Base)
}

impl Verb {
    /// Third person of the present tense.
    pub(super) fn third(&self) -> &str {
        &self.third
    }

    /// Finite form of the past tense.
    pub(super) fn past(&self) -> &str {
        &self.past
    }
}

fn ends_in_consonant_y(base: &str) -> bool {
    let mut rest = base.chars().rev();
    rest.next() == Some('y') && rest.next().is_some_and(|c| !"aeiou".contains(c))
}

fn third(base: &str) -> String {
    let sibilants = ["s", "x", "z", "ch", "sh", "o"];
    if ends_in_consonant_y(base) {
        format!("{}ies", &base[..base.len() - 1])
    } else if sibilants.iter().any(|end| base.ends_with(end)) {
        format!("{base}es")
    } else {
        format!("{base}s")
    }
}

fn past(base: &str) -> String {
    if ends_in_consonant_y(base) {
        format!("{}ied", &base[..base.len() - 1])
    } else if base.ends_with('e') {
        format!("{base}d")
    } else {
        format!("{base}ed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_verbs() {
        let forms = |base: &str| {
            let mut verbs = VERBS.iter();
            let verb = verbs.find(|verb| verb.base == base).unwrap();
            (
                verb.third.clone(),
                verb.past.clone(),
                verb.participle.clone(),
            )
        };
        for (base, third, past, participle) in [
            ("use", "uses", "used", "used"),
            ("reach", "reaches", "reached", "reached"),
            ("classify", "classifies", "classified", "classified"),
            ("employ", "employs", "employed", "employed"),
            ("write", "writes", "wrote", "written"),
            ("refer", "refers", "referred", "referred"),
            ("occur", "occurs", "occurred", "occurred"),
            ("depend", "depends", "depended", "depended"),
        ] {
            let expected = (third.to_owned(), past.to_owned(), participle.to_owned());
            assert_eq!(forms(base), expected);
        }
        assert_eq!(verb_of_participle("written").unwrap().past(), "wrote");
        assert!(verb_of_participle("table").is_none());
    }

    /// A verb without a preposition would be left out.
    #[test]
    fn prepositions_are_complete() {
        let mut items = PREPOSITIONAL.split_whitespace();
        assert!(items.all(|item| item.split('/').count() == 2));
    }
}
